#!/bin/sh
# Makes a base backup, as user barman, cuts it into compressed pieces, and verifies it. What is wrong with it is kept for backup-check.sh
# until a later one is whole. The functions of as-user.sh, base-backups.sh and cut-base.sh are before this text.
# Arguments: folder of the results, then options for barman backup. Settings: REPOSITORY, of RECOVERY_CONF or /etc/rpc-node/recovery.conf
set -u
# shellcheck source=/dev/null
. "${RECOVERY_CONF:-/etc/rpc-node/recovery.conf}"
results=$1
shift
fail() { printf '%s\n' "$*" >&2; exit 1; }
as_barman() { as_user barman "$@"; }
unverified() {
  printf '%s\n' "$*" >"$results/verify-failed"
  fail "the base backup is not verified: $*"
}
# Prints the folder of the newest whole base backup.
newest_base() { whole_bases "$REPOSITORY" | sed -n "\$s,.*,$REPOSITORY/base/&/data,p"; }

mkdir -p "$results" || exit 1
rm -f "$results/no-room"
# What an earlier run did not come to. Where it failed on a full disk, nothing would ever make room otherwise.
for each in $(whole_bases "$REPOSITORY"); do cut_base "$REPOSITORY/base/$each/data" </dev/null; done
newest=$(newest_base)
if [ -e "$newest/pieces" ] && [ ! -e "$newest/base.tar.zst" ]; then rm -f "$results/verify-failed"; fi
if [ -e "$newest/pieces" ] || [ -e "$newest/base.tar.zst" ]; then
  size=$(du -s -B1 "$newest" | cut -f1) free=$(df -B1 --output=avail "$REPOSITORY" | tail -n 1)
  # While it is cut it is there twice.
  if [ $((2 * size)) -gt "$free" ]; then
    said="there is no room for a base backup in $REPOSITORY: until it is cut, one such as the newest takes $((2 * size / 1000000)) MB, and $((free / 1000000)) MB are free"
    printf '%s\n' "$said" >"$results/no-room"
    fail "$said"
  fi
fi
as_barman barman -q backup --wait "$@" state-db || fail "the backup failed: $(as_barman barman check --nagios state-db)"
newest=$(newest_base)
if ! said=$(cut_base "$newest" 2>&1); then
  wrong=$(why_uncut "$said")
  unverified "${wrong:-it was not cut to its end}"
fi
rm -f "$results/verify-failed"
