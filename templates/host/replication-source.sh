#!/bin/sh
# Lets hosts copy the database server: a role that may do this alone, its lines in pg_hba.conf, a limit for the write-ahead log that is
# kept for them, and a slot for each replica. Arguments: `check` or `apply`, the role (rpc_node_backup or rpc_node_replica), superuser and
# database of the container state-db, its published port, the limit, the slots in one word, the kind of the lines (host, or hostssl), and
# the addresses of the hosts. Without an address nothing of it is there. The role's password is on standard input. Needs
# hba-lines.sh.
set -eu
verb=$1 role=$2 superuser=$3 database=$4 port=$5 limit=$6 slots=$7 kind=$8
shift 8
use=${role#rpc_node_}
# Without hosts, standard input has no password.
read -r password || [ $# = 0 ]

# shellcheck disable=SC2120 # the SQL is on standard input
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$superuser" -d "$database" "$@"; }
fail() { echo "$*" >&2; exit 1; }
lines=$(for address; do echo "$kind replication $role $address scram-sha-256"; done)
# Slots of replicas. One whose log was dropped is of no use.
slots_here() {
  sql -c "select string_agg(slot_name || case wal_status when 'lost' then ' (lost)' else '' end, ' ' order by slot_name collate \"C\")
    from pg_replication_slots where slot_name ^@ 'rpc_node_replica_'"
}

kept() { sql -c "select setting = (pg_size_bytes('$limit') / 1048576)::text from pg_settings where name = 'max_slot_wal_keep_size'"; }

if [ "$verb" = check ] && [ $# = 0 ]; then
  # The role is the last to go.
  [ -z "$(sql -c "select 1 from pg_roles where rolname = '$role'")" ] || fail "the role $role is not needed any more"
  exit 0
fi
# shellcheck disable=SC2034 # for hba-lines.sh
hba=$(sql -c 'show hba_file')

if [ "$verb" = check ]; then
  rights=true
  [ "$use" != backup ] || rights="pg_has_role(r.oid, 'pg_read_all_settings', 'member')
      and pg_has_role(r.oid, 'pg_read_all_stats', 'member')
      and pg_has_role(r.oid, 'pg_checkpoint', 'member') and has_function_privilege('pg_switch_wal()', 'execute')
      and has_schema_privilege('state', 'usage') and has_table_privilege('state.l2block', 'select')"
  # Through the published port: inside the container every local user is trusted.
  found=$(PGPASSWORD=$password PGCONNECT_TIMEOUT=5 psql -XAtq -h 127.0.0.1 -p "$port" -U "$role" -d "$database" -c "
    select not (r.rolsuper or r.rolcreaterole or r.rolcreatedb) and r.rolreplication and $rights
    from pg_roles r where r.rolname = current_user")
  [ "$found" = t ] || fail "the role $role may do more, or less, than copy the server"
  [ "$(hba_lines "$use")" = "$lines" ] || fail "pg_hba.conf does not let the $use hosts in, or lets others in"
  check_hba_is_read
  [ "$(kept)" = t ] || fail "max_slot_wal_keep_size is not $limit"
  if [ "$use" != backup ]; then
    here=$(slots_here)
    [ "$here" = "$slots" ] || fail "the slots of replicas are ${here:-none}, and have to be $slots"
  fi
  exit 0
fi

if [ $# -gt 0 ]; then
  # On standard input, and not logged by the server.
  sql <<SQL
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = 'panic';
select 'create role $role' where not exists (select 1 from pg_roles where rolname = '$role') \gexec
alter role $role login replication nosuperuser nocreatedb nocreaterole connection limit 20 password '$password';
SQL
  # Alone: ALTER SYSTEM is not for a transaction. No restart is needed.
  sql -c "alter system set max_slot_wal_keep_size = '$limit'"
fi
if [ "$use" = backup ]; then
  sql <<SQL
grant pg_read_all_settings, pg_read_all_stats, pg_checkpoint to $role;
grant execute on function pg_backup_start(text, boolean), pg_backup_stop(boolean), pg_switch_wal(),
  pg_create_restore_point(text) to $role;
-- The drill compares blocks.
grant usage on schema state to $role;
grant select on state.l2block to $role;
SQL
fi
put_hba_lines "$use" last
# The server reads them a moment later.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  if [ $# = 0 ] || [ "$(kept)" = t ]; then break; fi
  sleep 0.5
done
[ "$use" = replica ] || exit 0

for slot in $(sql -c "select slot_name from pg_replication_slots where slot_name ^@ 'rpc_node_replica_'
    and (wal_status = 'lost' or slot_name <> all(string_to_array('$slots', ' ')))"); do
  # A replica that was removed is not let in again.
  sql -c "select pg_terminate_backend(active_pid, 60000) from pg_replication_slots where slot_name = '$slot' and active_pid is not null" >/dev/null
  sql -c "select pg_drop_replication_slot('$slot')"
done
for slot in $slots; do
  sql -c "select pg_create_physical_replication_slot('$slot')
    where not exists (select 1 from pg_replication_slots where slot_name = '$slot')" >/dev/null
done
[ $# -gt 0 ] || sql -c "drop role if exists $role"
