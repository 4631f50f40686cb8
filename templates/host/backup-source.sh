#!/bin/sh
# Lets one host copy the database server for backups: a role that may do this alone, its line in pg_hba.conf, and a limit for the
# write-ahead log that is kept for it. Arguments: `check` or `apply`, the role, superuser and database of the container state-db, its
# published port, the limit, and the addresses of the backup host. The role's password is on standard input.
set -eu
verb=$1 role=$2 superuser=$3 database=$4 port=$5 limit=$6
shift 6
read -r password

# shellcheck disable=SC2120 # the SQL is on standard input
sql() { docker exec -i state-db psql -XAtq -v ON_ERROR_STOP=1 -U "$superuser" -d "$database" "$@"; }
lines=$(for address; do echo "host replication $role $address scram-sha-256"; done)
hba=$(sql -c 'show hba_file')
# The last word of each marks it as ours.
ours() { docker exec state-db sed -n "s/ # rpc-node backup\$//p" "$hba"; }

if [ "$verb" = check ]; then
  # Through the published port: inside the container every local user is trusted.
  found=$(PGPASSWORD=$password PGCONNECT_TIMEOUT=5 psql -XAtq -h 127.0.0.1 -p "$port" -U "$role" -d "$database" -c "
    select not (r.rolsuper or r.rolcreaterole or r.rolcreatedb) and r.rolreplication
      and pg_has_role(r.oid, 'pg_read_all_settings', 'member') and pg_has_role(r.oid, 'pg_read_all_stats', 'member')
      and pg_has_role(r.oid, 'pg_checkpoint', 'member') and has_function_privilege('pg_switch_wal()', 'execute')
      and has_schema_privilege('state', 'usage') and has_table_privilege('state.l2block', 'select')
    from pg_roles r where r.rolname = current_user")
  [ "$found" = t ] || { echo "the role $role may do more, or less, than copy the server" >&2; exit 1; }
  [ "$(ours)" = "$lines" ] || { echo 'pg_hba.conf does not let the backup host in, or lets others in' >&2; exit 1; }
  kept=$(sql -c "select setting = (pg_size_bytes('$limit') / 1048576)::text from pg_settings where name = 'max_slot_wal_keep_size'")
  [ "$kept" = t ] || { echo "max_slot_wal_keep_size is not $limit" >&2; exit 1; }
  exit 0
fi

# On standard input, and not logged by the server.
sql <<SQL
set log_statement = 'none';
set log_min_duration_statement = -1;
set log_min_error_statement = 'panic';
select 'create role $role' where not exists (select 1 from pg_roles where rolname = '$role') \gexec
alter role $role login replication nosuperuser nocreatedb nocreaterole connection limit 10 password '$password';
grant pg_read_all_settings, pg_read_all_stats, pg_checkpoint to $role;
grant execute on function pg_backup_start(text, boolean), pg_backup_stop(boolean), pg_switch_wal(),
  pg_create_restore_point(text) to $role;
-- The drill compares blocks.
grant usage on schema state to $role;
grant select on state.l2block to $role;
SQL
# Alone: ALTER SYSTEM is not for a transaction. No restart is needed.
sql -c "alter system set max_slot_wal_keep_size = '$limit'"
# The file keeps its inode and owner: a data directory may be a mount of its own.
docker exec -i --user postgres state-db sh -c '
  kept=$(sed "/ # rpc-node backup\$/d" "$1") && { printf "%s\n" "$kept"; cat; } >"$1.rpc-node" && cat "$1.rpc-node" >"$1" &&
  rm "$1.rpc-node"' sh "$hba" <<HBA
$(printf '%s\n' "$lines" | sed 's/$/ # rpc-node backup/')
HBA
sql -c 'select pg_reload_conf()' >/dev/null
