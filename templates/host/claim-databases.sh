#!/bin/sh
# Functions that give the databases of a copied server their names, roles and passwords. What the source had besides goes: roles, slots,
# settings, lines of pg_hba.conf. Each may be ended at any moment and run again.
#
# The copy is in the container $container: /copy/data is its data directory, /copy/run is for its socket and its log.
#
# Settings:
#   SOURCE_USER                    the superuser of the source
#   STATE_OID, PROVER_OID          of both databases, and PROVER_ROLE_OID of the prover's user: a copy keeps them, whatever the names are
#   STATE_USER, STATE_DATABASE     the names that they get
#   PROVER_USER, PROVER_DATABASE

# shellcheck disable=SC2154 # the script with these functions sets it, and $copy
in_copy() { docker exec -i "$container" "$@"; }

# Runs SQL from standard input. Arguments: user, database, then options of psql.
copy_sql() {
  user=$1 database=$2
  shift 2
  # As an option, a name with = would be read as a list of settings.
  in_copy env PGDATABASE="$database" psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse \
    --host=/copy/run --username="$user" --set=state_user="$STATE_USER" --set=prover_user="$PROVER_USER" "$@"
}

# Starts the server of the copy on a socket alone, with the configuration of a new server of its image, and replays its log. With the argument
# newest it follows all timelines in the log to the end of the newest one, as the copy of a repository needs.
start_copy() {
  # shellcheck disable=SC2016 # it is for the shell in the container
  in_copy sh -euc '
    cd /copy/data
    rm -rf /copy/run/fresh
    initdb --username=x --auth=trust --no-sync --pgdata=/copy/run/fresh >/copy/run/initdb.log 2>&1
    cp /copy/run/fresh/pg_hba.conf /copy/run/fresh/pg_ident.conf /copy/run/fresh/postgresql.conf .
    rm -rf /copy/run/fresh postmaster.pid standby.signal recovery.signal backup_manifest pg_replslot/* log
    echo "host all all all scram-sha-256" >>pg_hba.conf
    : >postgresql.auto.conf
    if [ "$1" = newest ]; then
      # As a standby it would need as many connections as the source.
      printf "%s\n" "restore_command = false" "hot_standby = off" >postgresql.auto.conf
      : >recovery.signal
    fi
  ' sh "${1:-}" || fail "the configuration of a new server cannot be made in a container of $IMAGE"
  in_copy pg_ctl --pgdata=/copy/data --wait --timeout=86400 --log=/copy/run/log \
    --options="-c listen_addresses= -c unix_socket_directories=/copy/run -c max_connections=20 -c autovacuum=off" start >/dev/null 2>&1 ||
    copy_failed
  # It may be replaying its log still.
  until in_copy pg_isready --quiet --host=/copy/run; do
    in_copy pg_ctl --pgdata=/copy/data status >/dev/null || copy_failed
    sleep 0.2
  done
}
copy_failed() { fail "the copy does not start: $(in_copy sed -n 's/^.*\(FATAL\|PANIC\): *//p' /copy/run/log | tail -n 1)"; }

stop_copy() { in_copy pg_ctl --pgdata=/copy/data --wait --timeout=3600 --mode=fast stop >/dev/null || fail 'the server of the copy does not stop'; }

# Gives names to roles and databases. Passwords are set by the caller. A session cannot rename its own role, so another one does it.
claim_databases() {
  helper=rpc_node_claim
  for each in "$STATE_USER" "$SOURCE_USER"; do
    echo "select 'create role $helper superuser login' where not exists (select from pg_roles where rolname = '$helper') \gexec" |
      copy_sql "$each" postgres >/dev/null 2>&1 && break
  done
  copy_sql "$helper" postgres -c 'select 1' </dev/null >/dev/null || fail 'the copy has not the superuser that its manifest names'
  # shellcheck disable=SC2154
  copy_sql "$helper" postgres -c 'select datname from pg_database where datallowconn' </dev/null >"$copy/databases" || fail 'the copy does not answer'
  while IFS= read -r each; do
    copy_sql "$helper" "$each" --set=prover_role="$PROVER_ROLE_OID" <<'SQL' || fail "the roles of the source cannot be removed from $each"
select format('reassign owned by %I to %I', rolname, (select rolname from pg_roles where oid = 10)),
  format('drop owned by %I', rolname)
from pg_roles where oid >= 16384 and oid <> :prover_role and rolname <> current_user \gexec
SQL
  done <"$copy/databases"
  copy_sql "$helper" postgres --set=prover_role="$PROVER_ROLE_OID" --set=state="$STATE_OID" --set=prover="$PROVER_OID" \
    --set=state_database="$STATE_DATABASE" --set=prover_database="$PROVER_DATABASE" <<'SQL' || fail 'the copy cannot be given the names of the inventory'
select format('drop role %I', rolname) from pg_roles where oid >= 16384 and oid <> :prover_role and rolname <> current_user \gexec
delete from pg_db_role_setting;
-- By way of names that nobody has: those of the source may be swapped. A run may have ended in between.
select format('alter role %I rename to rpc_node_moved', rolname) from pg_roles
where oid = :prover_role and rolname not in (:'prover_user', 'rpc_node_moved') \gexec
select format('alter role %I rename to %I', rolname, :'state_user') from pg_roles where oid = 10 and rolname <> :'state_user' \gexec
select format('alter role %I rename to %I', rolname, :'prover_user') from pg_roles where oid = :prover_role and rolname <> :'prover_user' \gexec
select format('alter database %I rename to rpc_node_moved', datname) from pg_database
where oid = :prover and datname not in (:'prover_database', 'rpc_node_moved') \gexec
-- Another database of the source may have the name.
select format('alter database %I rename to %I', datname, datname || '_' || oid) from pg_database
where oid not in (:state, :prover) and datname in (:'state_database', :'prover_database') \gexec
select format('alter database %I rename to %I', datname, :'state_database') from pg_database where oid = :state and datname <> :'state_database' \gexec
select format('alter database %I rename to %I', datname, :'prover_database') from pg_database where oid = :prover and datname <> :'prover_database' \gexec
alter role :"state_user" superuser login valid until 'infinity' connection limit -1;
alter role :"prover_user" nosuperuser nocreaterole nocreatedb noreplication login valid until 'infinity' connection limit -1;
alter role :"prover_user" set search_path to state;
alter database :"prover_database" owner to :"prover_user";
SQL
  copy_sql "$STATE_USER" postgres -c "drop role $helper" </dev/null || fail 'the copy cannot be given the names of the inventory'
}
