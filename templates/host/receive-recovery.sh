#!/bin/sh
# Fetches a recovered data directory from the backup host, and puts it into its place. What was there is kept under another name.
# The functions of data-place.sh are before this text.
#
# Settings:
#   ADDRESS, PORT    of rsync on the backup host
#   PASSWORD_FILE    of the user `recovery` there
#   DATA             the data directory of state-db
#   TIME             the time that was recovered to: the directory says it, too
#   SET_ASIDE        true: another data directory may be put aside
set -u
umask 077
fail() { printf '%s\n' "$*" >&2; exit 1; }

command -v rsync >/dev/null || fail 'rsync is not installed'
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
  mkdir -p "$copy"
  rsync --archive --delete --partial --contimeout=30 --timeout=300 --password-file="$PASSWORD_FILE" \
    "rsync://recovery@$ADDRESS:$PORT/recovery/" "$copy/data/" || fail "the backup host at $ADDRESS does not send the recovered files"
  [ "$(cat "$copy/data/rpc-node-recovered")" = "$TIME" ] || fail 'the backup host sends a recovery to another time'
  sync -f "$copy"
  # The copy took long.
  nothing_runs
  if [ -n "$(held_in "$DATA")" ]; then
    [ "$SET_ASIDE" = true ] || fail "$DATA holds other data"
    mv "$DATA" "$DATA.before-$(date -u +%Y%m%dT%H%M%SZ)" || fail "$DATA cannot be put aside"
  fi
fi
put_in_place "$DATA" rpc-node-recovered || fail "the recovered files cannot be moved into $DATA"
