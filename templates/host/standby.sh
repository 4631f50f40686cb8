#!/bin/sh
# Makes the container state-db follow the database server, or checks that it does. No restart is needed. Arguments: `check` or `apply`,
# superuser and database, the server's address and port, the replica's slot there, and further words of the connection, which may be empty.
# The password of the role is on standard input.
set -eu
verb=$1 superuser=$2 database=$3 address=$4 port=$5 slot=$6 more=$7
read -r password
fail() { echo "$*" >&2; exit 1; }
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$superuser" -d "$database" "$@"; }

source="host=$address port=$port user=rpc_node_replica password=$password application_name=$slot connect_timeout=10${more:+ $more}"
[ "$(sql -c 'select pg_is_in_recovery()')" = t ] || fail 'state-db accepts writes here: it is no replica'
# A former server still has the slots of its replicas and of the backup. Nobody reads them now, and each keeps log up to the limit.
kept() { sql -c "select slot_name from pg_replication_slots where slot_name = 'barman' or slot_name ^@ 'rpc_node_replica_'"; }
follows() { [ "$(sql -c 'show primary_conninfo')" = "$source" ]; }
if [ "$verb" = check ]; then
  follows || fail 'it follows another server, or with another password'
  [ "$(sql -c 'show primary_slot_name')" = "$slot" ] || fail "its slot is not $slot"
  [ "$(sql -c 'show hot_standby_feedback')" = on ] || fail 'hot_standby_feedback is off'
  [ -z "$(kept)" ] || fail 'it keeps log for those that followed it'
  exit 0
fi
# On standard input, and not logged by the server. Each statement is a transaction of its own.
sql <<SQL
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = 'panic';
alter system set primary_conninfo = '$source';
alter system set primary_slot_name = '$slot';
-- The server keeps the row versions that queries here still see: cleaning them up would cancel the queries.
alter system set hot_standby_feedback = on;
\o /dev/null
select pg_reload_conf();
SQL
# The server reads them a moment later.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  if follows; then break; fi
  sleep 0.5
done
for slot in $(kept); do
  sql -c "select pg_terminate_backend(active_pid, 60000) from pg_replication_slots where slot_name = '$slot' and active_pid is not null" >/dev/null
  sql -c "select pg_drop_replication_slot('$slot')" >/dev/null
done
