#!/bin/sh
# Makes a base backup, as user barman, cuts it into compressed pieces, and verifies it. What is wrong with it is kept for backup-check.sh
# until a later one is whole. The functions of as-user.sh and cut-base.sh are before this text.
# Arguments: folder of the results, then options for barman backup. Settings: REPOSITORY, of RECOVERY_CONF or /etc/rpc-node/recovery.conf
set -u
# shellcheck source=/dev/null
. "${RECOVERY_CONF:-/etc/rpc-node/recovery.conf}"
results=$1
shift
fail() { printf '%s\n' "$*" >&2; exit 1; }
as_barman() { as_user barman "$@"; }
corrupt() {
  printf '%s\n' "$*" >"$results/verify-failed"
  fail "the backup is not what the server sent: $*"
}

as_barman barman -q backup --wait "$@" state-db || fail "the backup failed: $(as_barman barman check --nagios state-db)"
mkdir -p "$results" || exit 1
# Also what an earlier run did not come to. The last one is the newest: its result is what counts.
wrong=''
for data in "$REPOSITORY"/base/*/data; do
  grep -qx 'status=DONE' "$data/../backup.info" 2>/dev/null || continue
  if said=$(cut_base "$data" 2>&1); then wrong=''; continue; fi
  wrong=$(printf '%s\n' "$said" | tail -n 1)
  wrong=${wrong:-it was not cut to its end}
done
[ -z "$wrong" ] || corrupt "$wrong"
rm -f "$results/verify-failed"
