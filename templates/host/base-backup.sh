#!/bin/sh
# Makes a base backup, as user barman, and verifies it. What is wrong with it is kept for backup-check.sh until a later one is whole.
# Arguments: folder of the results, then options for barman backup.
set -u
results=$1
shift
fail() { printf '%s\n' "$*" >&2; exit 1; }
barman() { runuser -u barman -- barman "$@"; }

barman -q backup --wait "$@" state-db || fail "the backup failed: $(barman check --nagios state-db)"
mkdir -p "$results" || exit 1
if said=$(barman verify-backup state-db latest 2>&1); then
  rm -f "$results/verify-failed"
else
  why=$(printf '%s\n' "$said" | grep -m 1 -i error)
  printf '%s\n' "${why:-pg_verifybackup found an error}" >"$results/verify-failed"
  fail "the backup is not what the server sent: ${why:-pg_verifybackup found an error}"
fi
