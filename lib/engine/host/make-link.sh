# shellcheck shell=sh disable=SC2154
# Makes a symbolic link, or puts it in place of another one. It follows folder-names.sh. Arguments: PATH TARGET.
path=$1
look "${path%/*}/"
if [ -z "$whose" ]; then
  [ -d "${path%/*}/" ] || fail "there is no directory ${path%/*}"
  new=$(mktemp -u "${path%/*}/$(short "${path##*/}").XXXXXX") && ln -sT "$2" "$new" && mv -T "$new" "$path"
  exit
fi
enter "$path is not changed"
stage "$path is not changed" "${path##*/}"
ln -s "$2" "$new" || exit
[ -h "$held/${path##*/}" ] || [ ! -e "$held/${path##*/}" ] || fail "$path is no link any more, and is not replaced"
settle "${path##*/}"
