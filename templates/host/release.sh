#!/bin/sh
# Keeps what is deployed here as a release, for a rollback: the newest five, the current one and the one that served before it, each a folder
# that is there whole or not at all.
#   release RELEASES CONTAINERS STATE_USER STATE_DATABASE FILE...
# RELEASES is the folder of all releases, CONTAINERS are names in one word, FILEs are the rendered files. STATE_USER is empty on a host
# without a state database. RELEASES/NUMBER has
#   manifest   file SHA-256 PATH; image CONTAINER NAME ID DIGEST, where DIGEST is - if no registry gave one; migrations NUMBER
#   made       who made the run, when, from which commit and inventory: the holder of the lock
#   files/     the files, with passwords: root's alone
# RELEASES/current is a link to the one that is deployed. A release that is deployed again keeps its number.
# RELEASES/served has the numbers of those that served, in their order, up to the current one. What was undone is not among them.
set -eu
umask 077
export LC_ALL=C
releases=$1 containers=$2 user=$3 database=$4
shift 4
kept=5

mkdir -p "$releases"
cd "$releases"
new=.new.$$
trap 'rm -rf "$new" ".current.$$" ".served.$$"' EXIT
rm -rf .new.* .current.* .served.*
mkdir -p "$new/files"

# The digest of an image as its registry knows it. Arguments: the image's name, its id.
digest() {
  name=${1%%@*}
  case ${name##*/} in *:*) name=${name%:*} ;; esac
  docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$2" | grep -m 1 -E "(^|/)${name##*/}@" || echo -
}

{
  for file; do
    cp -p -- "$file" "$new/files/"
    sum=$(sha256sum <"$new/files/${file##*/}")
    echo "file ${sum%% *} $file"
  done
  for container in $containers; do
    image=$(docker container inspect --format '{{.Config.Image}} {{.Image}}' "$container")
    # shellcheck disable=SC2086
    echo "image $container $image $(digest $image)"
  done
  if [ "$user" ]; then
    # Names that are safe in SQL; the node makes the table.
    number=$(docker exec state-db psql -XqAtU "$user" -d "$database" -c 'select count(*) from public.gorp_migrations')
    echo "migrations $number"
  fi
} >"$new/manifest"
cat /run/rpc-playbooks/lock/holder >"$new/made" 2>/dev/null || echo '{}' >"$new/made"

numbers=$(find . -maxdepth 1 -type d -name '[1-9]*' -printf '%f\n' | sort -nr)
number=''
for each in $numbers; do
  if cmp -s "$each/manifest" "$new/manifest"; then
    number=$each
    break
  fi
done
if [ -z "$number" ]; then
  number=$((${numbers%%[!0-9]*} + 1))
  sync -f "$new/manifest"
  mv "$new" "$number"
fi
# Prints the numbers of standard input up to $1, which is added where it is not among them.
up_to() { awk -v last="$1" '{ print } $1 == last { there = 1; exit } END { if (!there) print last }'; }
# The list first: what a run that is killed in between leaves still says what served before. Without a list, from an older version, all that
# are older than the current one have served.
was=$(readlink current) || was=$number
{ cat served 2>/dev/null || printf '%s\n' "$numbers" | sort -n; } | up_to "$was" | up_to "$number" |
  while read -r each; do [ ! -e "./$each/manifest" ] || echo "$each"; done >".served.$$"
sync ".served.$$"
mv -T ".served.$$" served
before=$(tail -n 2 served | head -n 1)
ln -s "$number" ".current.$$"
mv -T ".current.$$" current
count=0
for each in $(find . -maxdepth 1 -type d -name '[1-9]*' -printf '%f\n' | sort -nr); do
  count=$((count + 1))
  [ "$count" -le "$kept" ] || [ "$each" = "$number" ] || [ "$each" = "$before" ] || rm -rf "./$each"
done
