# shellcheck shell=sh
# Puts standard input in place of a file, by a temporary file beside it and rename.
# Arguments: `write` PATH BYTES MODE OWNER:GROUP. A file that has this content already stays, and gets its attributes: what goes by the
# time of its last change sees none.
# Or: `rewrite` PATH BYTES SHA256. The file has to be there, and its mode and owner stay. Of a link the target changes. Exit code 75:
# the file has another content than SHA256 says, or is gone. That is checked before the new content is read, and when all that takes
# time is done.
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
  path=$(readlink -f "$2") || exit
  [ -e "$path" ] || exit 75
  [ -f "$path" ] || fail "$2 is not a regular file, and is not rewritten"
  same
  directory=${path%/*}
  directory=${directory:-/}
  owner=$(stat -c %u:%g "$path") && mode=$(stat -c %a "$path") || exit
fi

# mktemp makes it with mode 0600.
temporary=$(mktemp "${directory%/}/.$(printf %.200s "${2##*/}").XXXXXX") || exit
trap 'rm -f "$temporary"' EXIT
trap 'exit 129' HUP INT TERM PIPE
cat >"$temporary" || exit
# A lost connection is no more than the end of standard input here.
received=$(wc -c <"$temporary")
[ "$received" -eq "$bytes" ] || fail "only $received of $bytes bytes arrived"

if [ "$1" = write ] && [ -f "$path" ] && [ ! -L "$path" ] && cmp -s "$temporary" "$path"; then
  chown "$owner" "$path" && chmod "$mode" "$path"
  exit
fi
# A mount point, as /etc/hosts of a container is, cannot be renamed over.
if [ "$1" = rewrite ] && mountpoint -q "$path"; then
  same
  cat "$temporary" >"$path"
  exit
fi
# The owner first: a change of owner takes set-user-id bits away.
chown "$owner" "$temporary" || exit
chmod "$mode" "$temporary" || exit
sync "$temporary" 2>/dev/null
same
mv -f "$temporary" "$path" || exit
sync "$directory" 2>/dev/null
exit 0
