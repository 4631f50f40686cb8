#!/bin/sh
# Fetches a recovered data directory from the backup host, and puts it into its place. What was there is kept under another name.
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
running=$(docker ps --format '{{.Names}}' | grep -x -e state-db -e sync -e prover) && fail "still running: $running"
rsync --archive --delete --partial --contimeout=30 --timeout=300 --password-file="$PASSWORD_FILE" \
  "rsync://recovery@$ADDRESS:$PORT/recovery/" "$DATA.recovered/" || fail "the backup host at $ADDRESS does not send the recovered files"
[ "$(cat "$DATA.recovered/rpc-node-recovered")" = "$TIME" ] || fail 'the backup host sends a recovery to another time'
sync -f "$DATA.recovered"
if [ -n "$(ls -A "$DATA" 2>/dev/null)" ]; then
  [ "$SET_ASIDE" = true ] || fail "$DATA holds other data"
  mv "$DATA" "$DATA.before-$(date -u +%Y%m%dT%H%M%SZ)" || fail "$DATA cannot be put aside: is it a mount of its own?"
fi
mkdir -p "$(dirname "$DATA")"
[ ! -d "$DATA" ] || rmdir "$DATA" || fail "$DATA cannot be replaced: is it a mount of its own?"
mv "$DATA.recovered" "$DATA"
