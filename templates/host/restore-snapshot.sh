#!/bin/sh
# Restores the state database and the prover database from a snapshot. Run as a transient systemd unit on the database server, so that
# it outlives the connection.
#
# The node's own tool exits with 0 whatever happened. So success is what the databases hold: everything that the archives list is
# there, the main tables have rows, the prover's belongs to its user, and the tool reported success. Only then does this script mark the
# databases as restored. A restore that was interrupted leaves them marked as started.
#
# Settings:
#   RESTORE_WITH     image or source: the node's own tool; pg_restore: the host's own
#   IMAGE            the node's image, where RESTORE_WITH is image
#   NODE_BINARY      the node's tool: its path in that image, or on the host
#   CONFIGURATION    absolute path of snapshot_restore.toml, for the node's tool: it ignores a path without a folder, silently
#   JOBS             how many tables and indexes pg_restore restores at the same time
#   CONTAINER, DATABASE_USER   of the database server; the user is a superuser
#   STATE_DATABASE, STATE_ARCHIVE, STATE_SHA256, STATE_TABLE   the archive's path, its SHA-256 and its main table
#   PROVER_DATABASE, PROVER_ARCHIVE, PROVER_SHA256, PROVER_TABLE
#   PROVER_USER      owner of the prover's tables
#   SNAPSHOT         day of the snapshot
#   NODE_CONTAINERS  containers that may not run on a database that is being restored
#   LOG              file for the output of the tool
set -u
umask 077

fail() { printf '%s\n' "$*" >&2; exit 1; }

# Selects the database that the functions below work on.
use() {
  name=$1
  case $name in
    state)
      database=$STATE_DATABASE archive=$STATE_ARCHIVE sha256=$STATE_SHA256 table=$STATE_TABLE
      filled="$STATE_TABLE public.gorp_migrations" owner='' ;;
    prover)
      database=$PROVER_DATABASE archive=$PROVER_ARCHIVE sha256=$PROVER_SHA256 table=$PROVER_TABLE
      filled=$PROVER_TABLE owner=$PROVER_USER ;;
  esac
}

# Runs SQL from standard input up to the first error. Arguments: variables, as --set=name=value.
sql() {
  docker exec -i "$CONTAINER" psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --set=VERBOSITY=terse \
    --username="$DATABASE_USER" --dbname="$database" "$@"
}

# The first error of psql in a file.
sql_error() { sed -n 's/.*ERROR: *//p' "$1" | head -n 1; }

# Prints the first error of pg_restore in the file $1; without one, the words in $2. pg_restore may report that a worker process died before
# the worker reports why: that line counts only where there is no other.
pg_restore_error() {
  sed -n 's/^pg_restore: error: *//p' "$1" |
    awk -v none="${2:-it reported no error}" \
      '/^a worker process died/ { died = $0; next } !found { print; found = 1 } END { if (!found) print died ? died : none }'
}

# Marks the database by a line in the comment on it; other lines stay. Arguments: `started` or `complete`, and `true` where it is known
# that the database holds nothing under a name of the archive. Prints t where that was so before the first restore of this archive:
# whatever is there under such a name was then put there by a restore.
mark() {
  sql --set=restore="$1" --set=clean="${2:-false}" --set=sha256="$sha256" --set=table="$table" --set=snapshot="$SNAPSHOT" <<'SQL'
create temp view comment_lines as
  select line, starts_with(line, 'rpc-playbooks: ') as is_mark from regexp_split_to_table(
    shobj_description((select oid from pg_database where datname = current_database()), 'pg_database'), E'\n') line;
select :clean or exists (select from comment_lines where is_mark and line like '%"ours": true%'
  and line like '%"sha256": "' || :'sha256' || '"%') as ours \gset
select format('comment on database %I is %L', current_database(), concat_ws(E'\n',
  (select string_agg(line, E'\n') from comment_lines where not is_mark),
  'rpc-playbooks: ' || cast(jsonb_build_object('restore', :'restore', 'sha256', :'sha256', 'snapshot', :'snapshot',
    'table', to_regclass(:'table')::oid::bigint, 'at', date_trunc('second', now()), 'ours', :'ours'::boolean) as text))) \gexec
\echo :ours
SQL
}

# What pg_restore lists of an archive as rows of kind, schema and name, for COPY: tables first, indexes and constraints, which are
# restored last. The name of a constraint follows that of its table. All names but the owner's at the end may have spaces.
listed() {
  pg_restore --list "$archive" | sed -n 's/\\/&&/g
    s/^[0-9]*; [0-9]* [0-9]* \(TABLE\|INDEX\|CONSTRAINT\) state \(.*\) [^ ]*$/\1\tstate\t\2/p
    s/^[0-9]*; [0-9]* [0-9]* FK \(CONSTRAINT\) state \(.*\) [^ ]*$/\1\tstate\t\2/p'
}

# Prints why the database is not restored whole; nothing where it is.
find_problem() {
  {
    printf '%s\n' 'create temp table listed (kind text, schema text, name text);' 'copy listed from stdin;'
    listed
    cat <<'SQL'
\.
create function pg_temp.is_empty(relation regclass) returns boolean language plpgsql as $$
declare result boolean;
begin
  execute format('select not exists (select from %s)', relation) into result;
  return result;
end $$;
select string_agg(problem, '; ') from (
  select string_agg(kind || ' ' || schema || '.' || name, ', ') || ' is missing' as problem from (
    select * from listed l
    where not exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where l.kind in ('TABLE', 'INDEX') and n.nspname = l.schema and c.relname = l.name)
    and not exists (
      select from pg_constraint k join pg_namespace n on n.oid = k.connamespace join pg_class t on t.oid = k.conrelid
      where l.kind = 'CONSTRAINT' and n.nspname = l.schema and t.relname || ' ' || k.conname = l.name)
    limit 5) missing
  union all
  select case
    when to_regclass(name) is null then name || ' is missing'
    when pg_temp.is_empty(to_regclass(name)) then name || ' is empty' end
  from string_to_table(:'filled', ' ') name
  union all
  select :'table' || ' belongs to ' || pg_get_userbyid(relowner) || ' and not to ' || :'owner'
  from pg_class where oid = to_regclass(:'table') and :'owner' not in ('', pg_get_userbyid(relowner))) problems;
SQL
  } | sql --set=filled="$filled" --set=table="$table" --set=owner="$owner"
}

# Sets $problem to why the database is not restored whole. Fails where it is not.
is_restored() {
  if ! problem=$(find_problem 2>"$LOG.check"); then
    problem=$(sql_error "$LOG.check")
    problem=${problem:-state-db does not answer}
  fi
  [ -z "$problem" ]
}

# What survives the node's own drop makes its next run fail silently. What is dropped here cannot be taken for restored.
empty_databases() {
  use state
  sql <<'SQL' || fail 'the state database could not be emptied'
set client_min_messages = error;
drop function if exists public.backup_batch() cascade;
drop schema if exists state cascade;
drop table if exists public.gorp_migrations;
SQL
  use prover
  sql <<'SQL' || fail 'the prover database could not be emptied'
set client_min_messages = error;
drop schema if exists state cascade;
SQL
}

node_tool() {
  if [ "$RESTORE_WITH" = image ]; then
    snapshots=$(dirname "$STATE_ARCHIVE")
    docker run --rm --name rpc-node-restore --network host --user 0:0 --volume "$CONFIGURATION:$CONFIGURATION:ro" \
      --volume "$snapshots:$snapshots:ro" --entrypoint "$NODE_BINARY" "$IMAGE" "$@"
  else
    "$NODE_BINARY" "$@"
  fi
}

# The tool at times skips the hash database and exits with 0 all the same: with a small archive about one time in five. It then lost the
# output of pg_restore, which is harmless. A pg_restore that itself failed fails again, after hours: its words are in the debug log.
restore_with_node_tool() {
  attempts=6
  attempt=1
  while :; do
    empty_databases
    before=$(stat -c %s "$LOG")
    printf '== restore, attempt %s\n' "$attempt" >>"$LOG"
    node_tool restore --cfg "$CONFIGURATION" -is "$STATE_ARCHIVE" -ih "$PROVER_ARCHIVE" >>"$LOG" 2>&1
    code=$?
    tail -c "+$((before + 1))" "$LOG" | sed 's/restoreExec\.Output: /\n/; s/\\n/\n/g; s/\\\(["\\]\)/\1/g' >"$LOG.said"
    successes=$(grep -ci 'snapshot success' "$LOG.said")
    cause=
    if grep -q 'Error: exit status [0-9]' "$LOG.said"; then
      failed=$PROVER_ARCHIVE
      [ "$successes" -gt 0 ] || failed=$STATE_ARCHIVE
      # The tool may close the output of pg_restore before it has read it.
      lost="pg_restore failed, and the tool lost the reason (pg_restore --file=/dev/null $failed shows whether the archive is damaged)"
      cause="$(pg_restore_error "$LOG.said" "$lost"); "
    fi
    rm -f "$LOG.said"
    use state
    is_restored || fail "the state database is not restored: $cause$problem. The tool exited with $code, its output is in $LOG"
    use prover
    if is_restored; then
      [ "$successes" -ge 2 ] && break
      problem="it reported $successes of 2 successes"
    else
      problem="it skipped the hash database, or stopped in it: $problem"
    fi
    [ -z "$cause" ] || fail "the restore tool failed: $cause$problem. It exited with $code, its output is in $LOG"
    [ "$attempt" -lt "$attempts" ] ||
      fail "the restore tool failed $attempts times: $problem. It exited with $code, its output is in $LOG"
    echo "the restore tool failed: $problem. Trying again"
    attempt=$((attempt + 1))
  done
}

# pg_restore with the options of the node's tool. Publications and subscriptions belong to the server that was dumped.
pg_restore_content() {
  LC_ALL=C PGAPPNAME=rpc-node-restore pg_restore --no-owner --no-acl --no-publications --no-subscriptions --format=custom "$@"
}

# Catalogs that have a row for each object that a dump may hold.
catalogs='am cast class collation constraint conversion event_trigger extension foreign_data_wrapper foreign_server language
  largeobject_metadata namespace opclass operator opfamily policy proc publication rewrite statistic_ext subscription transform trigger
  ts_config ts_dict ts_parser ts_template type'

# Drops what an earlier restore of this archive left outside the emptied schema: types, functions, large objects and the like. They are
# dropped by pg_restore's own statements, and only when none of them was there before the first restore of the archive. That is found out
# here, by a try that is rolled back, and noted in the mark. What others added stays, and what they built on these objects keeps them.
drop_leftovers() {
  # The statements are at the beginning, before the first object is created.
  drops=$(pg_restore_content --clean --if-exists --file=- "$archive" 2>/dev/null |
    sed -n '/^-- Name: /q; /^DROP /p; /^ALTER /p; /^SELECT pg_catalog\.lo_unlink/p')
  ours=$(mark started) || fail 'state-db does not answer'
  if [ "$ours" = t ]; then
    printf '%s\n' 'set client_min_messages = error;' 'begin;' "$drops" 'commit;' | sql >"$LOG.check" 2>&1 ||
      fail "what an interrupted restore left in $database could not be dropped: $(sql_error "$LOG.check")"
    return
  fi
  objects=0
  for each in $catalogs; do objects="$objects + (select count(*) from pg_$each)"; done
  nothing_dropped=$(
    {
      printf '%s\n' 'set client_min_messages = error;' 'begin;' "select set_config('rpc.objects', ($objects)::text, true);" "$drops"
      printf '%s\n' "select current_setting('rpc.objects') = ($objects)::text;" 'rollback;'
    } | sql 2>/dev/null
  ) || return 0
  if [ "$(printf '%s\n' "$nothing_dropped" | tail -n 1)" = t ]; then
    mark started true >/dev/null || fail "the $name database could not be marked as being restored"
  fi
}

# It reaches the server by its socket, as psql in the container does, and so needs no password. The host sees the socket's folder below
# /proc, by its real path: a symbolic link would lead into the host's own files.
find_socket() {
  socket=$(sql <<'SQL'
select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')
SQL
  ) || fail 'state-db does not answer'
  port=${socket#*|}
  socket=$(docker exec "$CONTAINER" readlink -f "${socket%|*}") || fail 'the socket of state-db is not found in its container'
  socket=/proc/$(docker inspect --format '{{.State.Pid}}' "$CONTAINER")/root$socket
  [ -S "$socket/.s.PGSQL.$port" ] || fail "the socket of state-db is not found: $socket/.s.PGSQL.$port"
}

# The prover's user creates its tables, and so owns them.
restore_with_pg_restore() {
  use state
  find_socket
  empty_databases
  use state
  drop_leftovers
  use prover
  drop_leftovers
  for each in state prover; do
    use "$each"
    set -- --exit-on-error --no-password --username="$DATABASE_USER" --host="$socket" --port="$port" --dbname="$database"
    [ "$JOBS" = 1 ] || set -- "$@" --jobs="$JOBS"
    [ -z "$owner" ] || set -- "$@" --role="$owner"
    printf '== pg_restore of the %s database\n' "$name" >>"$LOG"
    pg_restore_content "$@" "$archive" </dev/null >"$LOG.check" 2>&1
    code=$?
    cat "$LOG.check" >>"$LOG"
    [ "$code" = 0 ] ||
      fail "the $name database is not restored: $(pg_restore_error "$LOG.check"). pg_restore exited with $code, its output is in $LOG"
    is_restored || fail "the $name database is not restored: $problem"
  done
}

# Both ways need it: without it the node's tool would drop the database and restore nothing.
command -v pg_restore >/dev/null || fail 'pg_restore is not installed: role client-tools installs it'
if [ "$RESTORE_WITH" = pg_restore ]; then
  for each in state prover; do
    use "$each"
    LC_ALL=C pg_restore --list "$archive" >"$LOG.check" 2>&1 || fail "$archive cannot be restored: $(pg_restore_error "$LOG.check")"
    format=$(sed -n 's/^; *Format: *//p' "$LOG.check")
    [ "$format" = CUSTOM ] || fail "$archive is a dump in the format $format; several jobs can restore the custom format only"
  done
fi

docker rm --force rpc-node-restore >/dev/null 2>&1
running=
for each in $(docker ps --format '{{.Names}}'); do
  case " $NODE_CONTAINERS " in *" $each "*) running="$running $each" ;; esac
done
[ -z "$running" ] || fail "these containers use the databases:$running. Stop them first: docker stop$running"
use state
clients=$(sql --set=state="$STATE_DATABASE" --set=prover="$PROVER_DATABASE" <<'SQL'
select string_agg(distinct host(client_addr), ' ') from pg_stat_activity
where datname in (:'state', :'prover') and client_addr is not null
SQL
) || fail 'state-db does not answer'
[ -z "$clients" ] || fail "the databases are in use from $clients: stop what runs there first"
# A killed pg_restore leaves sessions: one that builds an index does not notice that its client is gone, and keeps its lock.
sql --set=state="$STATE_DATABASE" --set=prover="$PROVER_DATABASE" >/dev/null <<'SQL' ||
select pg_terminate_backend(pid, 60000) from pg_stat_activity
where datname in (:'state', :'prover') and application_name = 'rpc-node-restore'
SQL
  fail 'the sessions of an interrupted restore could not be ended'

for each in state prover; do
  use "$each"
  mark started >/dev/null || fail "the $each database could not be marked as being restored"
done
: >>"$LOG"
if [ "$RESTORE_WITH" = pg_restore ]; then restore_with_pg_restore; else restore_with_node_tool; fi
rm -f "$LOG.check"
for each in prover state; do
  use "$each"
  mark complete >/dev/null || fail "the $each database could not be marked as restored"
done
echo 'the snapshot is restored'
