#!/bin/sh
# Makes the first base backup, as user barman. The receiver of write-ahead log runs first, and has one segment: without it a backup could
# not be recovered, and Barman refuses. Setting: PROGRAMS, the folder of PostgreSQL's client programs.
set -u
fail() { printf '%s\n' "$*" >&2; exit 1; }
barman() { runuser -u barman -- barman "$@"; }

"$PROGRAMS/pg_receivewal" --version >/dev/null || fail "pg_receivewal is not in $PROGRAMS"
# Its children would end with this unit, so cron starts the receiver, within a minute.
tries=0
until barman switch-wal --force --archive --archive-timeout 20 state-db >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 15 ] || fail "no write-ahead log arrives: $(barman check --nagios state-db)"
  sleep 5
done
barman backup --wait state-db || fail "the backup failed: $(barman check --nagios state-db)"
barman verify-backup state-db latest || fail 'the backup is not what the server sent: pg_verifybackup found an error'
