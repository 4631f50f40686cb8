# shellcheck shell=sh
# Puts standard input in place of a file, by a temporary file beside it and rename.
# Arguments: `write` PATH BYTES MODE OWNER:GROUP. A file with this content stays, and gets its attributes: programs that compare the
# time of its last change see none.
# Or: `rewrite` PATH BYTES SHA256. The file must exist, and its mode and owner stay. If it is a link, its target changes. Exit code
# 75: the file does not have the content of SHA256, or is gone. That is checked after all slow steps.
path=$2 bytes=$3

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

same() {
  [ -z "$was" ] || [ "$(sha256sum <"$path")" = "$was  -" ] || exit 75
}

if [ "$1" = write ]; then
  was='' mode=$4 owner=$5
  directory=${path%/*}
  directory=${directory:-/}
  [ -d "$directory" ] || fail "there is no directory $directory"
  [ ! -d "$path" ] || fail "$path is a directory, and is not replaced by a file"
  [ ! -e "$path" ] || [ -f "$path" ] || [ -L "$path" ] ||
    fail "$path is neither file nor link, and is not replaced by a file"
else
  was=$4
  [ ! -h "$path" ] || path=$(readlink -f "$2") || exit
  [ -e "$path" ] || exit 75
  [ -f "$path" ] || fail "$2 is not a regular file, and is not rewritten"
  directory=${path%/*}
  directory=${directory:-/}
  attributes=$(stat -c '%u:%g %a' "$path") || exit
  owner=${attributes% *} mode=${attributes#* }
fi

name=${2##*/}
[ ${#name} -le 200 ] || name=$(printf %.200s "$name")
temporary=${directory%/}/.$name.$$
trap 'rm -f "$temporary"' EXIT
trap 'exit 129' HUP INT TERM PIPE
# Empty, with mode and owner from the beginning, by one program. Busybox may have none, and in a folder for everybody only root's own file
# is safe until it has its content.
unfinished=
if [ -k "$directory" ] ||
  ! install -T -m "$mode" -o "${owner%%:*}" -g "${owner#*:}" /dev/null "$temporary" 2>/dev/null; then
  unfinished=1
  rm -f "$temporary"
  (umask 077 && set -C && : >"$temporary") || exit
fi
cat >"$temporary" || exit
# A lost connection looks like the end of standard input here.
received=$(wc -c <"$temporary")
[ "$received" -eq "$bytes" ] || fail "only $received of $bytes bytes arrived"

if [ "$1" = write ] && [ -f "$path" ] && [ ! -L "$path" ] && cmp -s "$temporary" "$path"; then
  chown "$owner" "$path" && chmod "$mode" "$path"
  exit
fi
# The owner first: a change of owner clears set-user-id bits.
[ -z "$unfinished" ] || { chown "$owner" "$temporary" && chmod "$mode" "$temporary"; } || exit
sync "$temporary" 2>/dev/null
same
said=$(mv -f "$temporary" "$path" 2>&1) || {
  # A mount point, such as /etc/hosts of a container, cannot be renamed over.
  if [ "$1" != rewrite ] || ! mountpoint -q "$path"; then fail "$said"; fi
  same
  cat "$temporary" >"$path"
  exit
}
trap - EXIT
sync "$directory" 2>/dev/null
exit 0
