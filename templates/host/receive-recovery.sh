#!/bin/sh
# Makes the data directory of a recovery from what the backup host offers, and puts it into its place. What was there is kept under another
# name. The functions of data-place.sh and unpack-recovery.sh are before this text.
#
# Settings:
#   SOURCE           address of the offer, for rsync
#   PASSWORD_FILE    of the user `recovery` there
#   CONNECT          as unpack-recovery.sh says
#   WORKERS          how many fetch at the same time
#   DATA             the data directory of state-db
#   TIME             the time that is recovered to: the offer says it, too
#   SET_ASIDE        true: another data directory may be put aside
set -u
umask 077
export LC_ALL=C
fail() { printf '%s\n' "$*" >&2; exit 1; }

for program in rsync zstd; do
  command -v "$program" >/dev/null || fail "$program is not installed"
done
# A link has the copy on the file system that it leads to.
DATA=$(readlink -m "$DATA")
nothing_runs() {
  names=$(docker ps --format '{{.Names}}') || fail 'docker does not answer'
  running=$(printf '%s\n' "$names" | grep -x -e state-db -e sync -e prover) && fail "still running: $running"
  return 0
}

nothing_runs
if ! is_half_placed "$DATA" rpc-node-recovered; then
  copy=$(place_of_copy "$DATA")
  # Of a snapshot whose unpacking was killed: its files are others, and of another user.
  if [ -e "$copy/of" ]; then
    docker rm --force --volumes rpc-node-unpack >/dev/null 2>&1
    remove_copy "$copy" || fail "$copy cannot be removed"
  fi
  mkdir -p "$copy"
  take "$SOURCE/rpc-node-recovered" "$copy/" || fail "the backup host does not offer a recovery at $SOURCE"
  [ "$(cat "$copy/rpc-node-recovered")" = "$TIME" ] || fail 'the backup host offers a recovery to another time'
  unpack_offer "$copy" || fail "the recovery cannot be fetched from $SOURCE"
  sync -f "$copy"
  # It took long.
  nothing_runs
  if [ -n "$(held_in "$DATA")" ]; then
    [ "$SET_ASIDE" = true ] || fail "$DATA holds other data"
    mv "$DATA" "$DATA.before-$(date -u +%Y%m%dT%H%M%SZ)" || fail "$DATA cannot be put aside"
  fi
  # What is whole has the mark, from which on a synchronizer that starts is later. rsync gave it the age of the offer.
  { touch "$copy/rpc-node-recovered" && mv "$copy/rpc-node-recovered" "$copy/data/"; } || fail "the recovery in $copy cannot be marked"
fi
put_in_place "$DATA" rpc-node-recovered || fail "the recovered files cannot be moved into $DATA"
