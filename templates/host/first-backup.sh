#!/bin/sh
# Makes the first base backup, as user barman. The receiver of write-ahead log runs first, and has one segment: without it a backup could
# not be recovered, and Barman refuses. Settings: PROGRAMS, PostgreSQL's client programs; CONNECTION; BASE_BACKUP, the command that makes it;
# FOLDER of the repository.
set -u
fail() { printf '%s\n' "$*" >&2; exit 1; }
barman() { runuser -u barman -- barman "$@"; }

size=$(runuser -u barman -- psql -XAtq "$CONNECTION" -c "select sum(pg_database_size(oid))::bigint from pg_database where datallowconn") ||
  fail 'the database server does not let the backup host in'
free=$(df -P -B1 "$FOLDER" | awk 'END { print $4 }')
[ "$size" -le "$free" ] ||
  fail "there is no room for a base backup in $FOLDER: the databases take $((size / 1000000)) MB, and $((free / 1000000)) MB are free"
"$PROGRAMS/pg_receivewal" --version >/dev/null || fail "pg_receivewal is not in $PROGRAMS"
# Its children would end with this unit, so cron starts the receiver, within a minute.
tries=0
# A restore point is a record: without one since the last switch there would be nothing to switch. With --force Barman asks for a superuser.
until runuser -u barman -- psql -XAtq "$CONNECTION" -c "select pg_create_restore_point('first backup')" >/dev/null 2>&1 &&
  barman switch-wal --archive --archive-timeout 20 state-db >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 15 ] || fail "no write-ahead log arrives: $(barman check --nagios state-db)"
  sleep 5
done
# shellcheck disable=SC2086 # a command with an argument
exec $BASE_BACKUP --immediate-checkpoint
