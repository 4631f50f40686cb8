#!/bin/sh
# Makes a base backup, as user barman, cuts it into compressed pieces, and verifies it. What is wrong with it is kept for backup-check.sh
# until a later one is whole.
# Arguments: folder of the results, then options for barman backup. Settings: REPOSITORY, of RECOVERY_CONF or /etc/rpc-node/recovery.conf
set -u
# shellcheck source=/dev/null
. "${RECOVERY_CONF:-/etc/rpc-node/recovery.conf}"
results=$1
shift
library=$(dirname "$0")
fail() { printf '%s\n' "$*" >&2; exit 1; }
as_barman() { runuser -u barman -- "$@"; }
corrupt() {
  printf '%s\n' "$*" >"$results/verify-failed"
  fail "the backup is not what the server sent: $*"
}

as_barman barman -q backup --wait "$@" state-db || fail "the backup failed: $(as_barman barman check --nagios state-db)"
mkdir -p "$results" || exit 1
# Also what an earlier run did not come to. The last one is the newest: its result is what counts.
for data in "$REPOSITORY"/base/*/data; do
  if [ ! -e "$data/base.tar.zst" ] || ! grep -qx 'status=DONE' "$data/../backup.info"; then continue; fi
  # Each is a step of its own, as a folder of barman's could be a link elsewhere for root.
  # shellcheck disable=SC2016 # it is for the shell of barman
  said=$(as_barman sh -euc '
    cd "$1"
    rm -rf pieces.part
    if [ ! -d pieces ]; then
      mkdir -m 0700 pieces.part
      zstd -dcq base.tar.zst | "$2/cut-backup" pieces.part backup_manifest
      (cd pieces.part && sha256sum piece-* >SHA256SUMS)
      sync -f pieces.part
      mv pieces.part pieces
      # From the disk, not from memory.
      for each in pieces/piece-*; do dd if="$each" iflag=nocache count=0 status=none; done
      (cd pieces && sha256sum --check --quiet --strict SHA256SUMS)
    fi
    rm base.tar.zst' sh "$data" "$library" 2>&1) || corrupt "$(printf '%s\n' "$said" | tail -n 1)"
done
rm -f "$results/verify-failed"
