# shellcheck shell=sh disable=SC2154
# Puts standard input in place of a file, by a temporary file beside it and rename. It follows folder-names.sh.
# Arguments: `write` PATH BYTES MODE OWNER:GROUP. A file with this content stays, and gets its attributes: programs that compare the
# time of its last change see none.
# Or: `rewrite` PATH BYTES SHA256. The file must exist, and its mode and owner stay. If it is a link, its target changes. Exit code
# 75: the file does not have the content of SHA256, or is gone. That is checked after all slow steps.
# In a folder where another user can change names, a file is always new, and a link is not followed: it leads where that user wants.
path=$2 bytes=$3

# Whether the file that is replaced is still the one that was read.
same() {
  [ "$1" = rewrite ] || return 0
  [ "$(sha256sum <"$now")" = "$4  -" ] || exit 75
  [ -z "$whose" ] || [ "$(stat -c %d:%i "$now")" = "$(stat -c %d:%i "$path")" ] || exit 75
}

if [ "$1" = write ]; then
  mode=$4 owner=$5
  look "${path%/*}/"
else
  look_at_file "$path"
  path=$file
fi
directory=${path%/*} name=$(short "${2##*/}")
directory=${directory:-/}
[ "$whose" ] || [ "$1" = rewrite ] || [ -d "$directory" ] || fail "there is no directory $directory"
if [ "$whose" ]; then
  enter "$path is not written"
  stage "$path is not written" "$name"
  path=$held/${path##*/} directory=$held/.
fi

if [ "$1" = write ]; then
  [ ! -d "$path" ] || fail "$2 is a directory, and is not replaced by a file"
  [ ! -e "$path" ] || [ -f "$path" ] || [ -L "$path" ] ||
    fail "$2 is neither file nor link, and is not replaced by a file"
else
  now=$path
  if [ "$whose" ]; then
    [ ! -h "$path" ] || refuse "$2 is not written" 'it is a link there. Put the file itself there, or name the file that it leads to'
    [ ! -e "$path" ] || [ -f "$path" ] || fail "$2 is not a regular file, and is not rewritten"
    # Another name of the same file, which nobody else can change.
    now=$old
    ln "$path" "$now" 2>/dev/null || { [ ! -e "$path" ] && exit 75; } || refuse "$2 is not written" 'the file cannot be held by a link'
    [ ! -h "$now" ] || exit 75
  fi
  [ -e "$now" ] || exit 75
  [ -f "$now" ] || fail "$2 is not a regular file, and is not rewritten"
  attributes=$(stat -c '%u:%g %a' "$now") || exit
  owner=${attributes% *} mode=${attributes#* }
  # A program of root's or of a group's is not made from what another user wrote.
  [ -z "$whose" ] || case $mode in
    [2-7]???) refuse "$2 is not written" "it runs as its owner or its group (mode $mode)" ;;
  esac
fi

temporary=${new-} unfinished=1
if [ -z "$whose" ]; then
  temporary=${directory%/}/.$name.$$
  trap 'rm -f "$temporary"' EXIT
  # Empty, with mode and owner from the beginning, by one program. Busybox may have none.
  install -T -m "$mode" -o "${owner%%:*}" -g "${owner#*:}" /dev/null "$temporary" 2>/dev/null && unfinished=''
fi
trap 'exit 129' HUP INT TERM PIPE
if [ "$unfinished" ]; then
  rm -f "$temporary"
  (umask 077 && set -C && : >"$temporary") || exit
fi
cat >"$temporary" || exit
# A lost connection looks like the end of standard input here.
received=$(wc -c <"$temporary")
[ "$received" -eq "$bytes" ] || fail "only $received of $bytes bytes arrived"

if [ "$1" = write ] && [ -z "$whose" ] && [ -f "$path" ] && [ ! -L "$path" ] && cmp -s "$temporary" "$path"; then
  chown "$owner" "$path" && chmod "$mode" "$path"
  exit
fi
# The owner first: a change of owner clears set-user-id bits.
[ -z "$unfinished" ] || { chown "$owner" "$temporary" && chmod "$mode" "$temporary"; } || exit
sync "$temporary" 2>/dev/null
same "$@"
if [ "$whose" ]; then
  settle "${path##*/}" || exit
  sync "$directory" 2>/dev/null
  exit 0
fi
said=$(mv -f "$temporary" "$path" 2>&1) || {
  # A mount point, such as /etc/hosts of a container, cannot be renamed over.
  if [ "$1" != rewrite ] || ! mountpoint -q "$path"; then fail "$said"; fi
  same "$@"
  cat "$temporary" >"$path"
  exit
}
trap - EXIT
sync "$directory" 2>/dev/null
exit 0
