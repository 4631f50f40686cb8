import { quote } from '../../engine/host/quote.ts';
import { psqlCommand, sqlLiteral } from '../databases/postgres.ts';
import { databaseClients } from '../variables/services.ts';
import type { RestoreTool } from './restore-tool.ts';
import { toolContainer } from './restore-tool.ts';
import { leftoversEnd, withNodeTool, withPgRestore } from './restore-ways.ts';
import { clientsOf, databaseNames, markStatement, type Stores } from './restored.ts';

export interface Restore extends Stores {
  /** Who has to own the prover's tables. */
  readonly proverUser: string;
  /** Day of the snapshot. */
  readonly snapshot: string;
  readonly tool: RestoreTool;
  /** Absolute path of snapshot_restore.toml: one without a folder is silently ignored by the tool. */
  readonly configuration: string;
  /** Where the tool's own words are kept. */
  readonly log: string;
}

/**
 * What pg_restore lists of an archive as rows of kind, schema and name, for COPY: tables first, indexes and constraints last to be
 * restored. The name of a constraint comes after that of its table. All may have spaces in them, the owner at the end may not.
 */
const listed = `sed -n 's/\\\\/&&/g
  s/^[0-9]*; [0-9]* [0-9]* \\(TABLE\\|INDEX\\|CONSTRAINT\\) state \\(.*\\) [^ ]*$/\\1\tstate\t\\2/p
  s/^[0-9]*; [0-9]* [0-9]* FK \\(CONSTRAINT\\) state \\(.*\\) [^ ]*$/\\1\tstate\t\\2/p'`;

/** Raises an error that names what of the archive is not in the database. */
const everythingListed = `
  select string_agg(kind || ' ' || schema || '.' || name, ', ') into problem from (
    select * from expected e
    where not exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where e.kind in ('TABLE', 'INDEX') and n.nspname = e.schema and c.relname = e.name)
    and not exists (
      select from pg_constraint k join pg_namespace n on n.oid = k.connamespace join pg_class t on t.oid = k.conrelid
      where e.kind = 'CONSTRAINT' and n.nspname = e.schema and t.relname || ' ' || k.conname = e.name)
    limit 5) missing;
  if problem is not null then raise exception 'not restored: %', problem; end if;`;

/**
 * The restore, as a script for a systemd unit on the database host. Success is what the databases show, for the node's tool ends with
 * 0 whatever happened: everything that the archives list is there, the main tables hold rows, the prover's belong to its user, and
 * what restored them told of success. Only then, and by this same script, are the databases marked as restored.
 */
export function restoreScript({ state, prover, proverUser, snapshot, tool, configuration, log }: Restore): string {
  const stores = { state, prover };
  const way =
    'jobs' in tool
      ? withPgRestore({ jobs: tool.jobs, state, prover, proverUser, snapshot })
      : withNodeTool(tool.command, configuration);
  return `set -u
log=${quote(log)}
state_archive=${quote(state.archive.path)}
prover_archive=${quote(prover.archive.path)}

fail() { printf '%s\\n' "$*" >&2; exit 1; }
on_state() { ${psqlCommand(state.target)}; }
on_prover() { ${psqlCommand(prover.target)}; }
expected() {
  printf '%s\\n' 'create temp table expected (kind text, schema text, name text);' 'copy expected from stdin;'
  pg_restore --list "$1" | ${listed}
  printf '%s\\n' '\\.'
}
reason() { sed -n 's/.*ERROR: *//p' "$1" | head -n 1; }
first_error() {
  # That a job has died is told by the others, and at times before it could say why itself.
  sed -n 's/^pg_restore: error: *//p' "$1" | awk '/^a worker process died/ { died = $0; next } { print; told = 1; exit } END { if (!told) print died ? died : "it did not say why" }'
}

umask 077
${way.before}
docker rm --force ${toolContainer} >/dev/null 2>&1
running=$(docker ps --format '{{.Names}}' | grep -x ${databaseClients.map((name) => `-e ${name}`).join(' ')} | paste -sd ' ')
[ -z "$running" ] || fail "these run and use the databases: $running. Stop them first (docker stop $running)"
clients=$(on_state <<'SQL'
select string_agg(distinct host(client_addr), ' ') from ${clientsOf(stores)}
SQL
) || fail 'state-db does not answer'
[ -z "$clients" ] || fail "the databases are in use from $clients: stop what runs there first"
on_state <<'SQL' || fail 'what an interrupted restore left running could not be ended'
${leftoversEnd(databaseNames(stores))}
SQL

on_state <<'SQL' || fail 'the state database could not be marked as being restored'
${markStatement('started', state.archive, snapshot)}
SQL
on_prover <<'SQL' || fail 'the prover database could not be marked as being restored'
${markStatement('started', prover.archive, snapshot)}
SQL

check_state() {
  { expected "$state_archive"; cat <<'SQL'
do $check$
declare problem text;
begin${everythingListed}
  if to_regclass('state.l2block') is null then raise exception 'state.l2block is absent'; end if;
  if not exists (select from state.l2block) then raise exception 'state.l2block is empty'; end if;
  if to_regclass('public.gorp_migrations') is null then raise exception 'gorp_migrations is absent'; end if;
  if not exists (select from public.gorp_migrations) then raise exception 'gorp_migrations is empty'; end if;
end $check$;
SQL
  } | on_state
}

check_prover() {
  { expected "$prover_archive"; cat <<'SQL'
do $check$
declare problem text;
begin${everythingListed}
  if to_regclass('state.nodes') is null then raise exception 'state.nodes is absent'; end if;
  if not exists (select from state.nodes) then raise exception 'state.nodes is empty'; end if;
  select pg_get_userbyid(relowner) into problem from pg_class where oid = 'state.nodes'::regclass;
  if problem <> ${sqlLiteral(proverUser)} then raise exception 'state.nodes belongs to % and not to %', problem, ${sqlLiteral(proverUser)}; end if;
end $check$;
SQL
  } | on_prover
}

# What survives a drop by the node's tool makes its next run fail in silence; and what is dropped here cannot pass for restored.
empty_databases() {
  on_state <<'SQL' || fail 'the state database could not be emptied'
set client_min_messages = error;
drop function if exists public.backup_batch() cascade;
drop schema if exists state cascade;
drop table if exists public.gorp_migrations;
SQL
  on_prover <<'SQL' || fail 'the prover database could not be emptied'
set client_min_messages = error;
drop schema if exists state cascade;
SQL
}

: >>"$log"
${way.restore}
rm -f "$log.check"

on_prover <<'SQL' || fail 'the prover database could not be marked as restored'
${markStatement('complete', prover.archive, snapshot)}
SQL
on_state <<'SQL' || fail 'the state database could not be marked as restored'
${markStatement('complete', state.archive, snapshot)}
SQL
echo 'the snapshot is restored'
`;
}
