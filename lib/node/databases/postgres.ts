import { createHash } from 'node:crypto';
import type { ContainerState, Progress, Reader, SqlTarget } from '../../engine/host/host.ts';
import { quote } from '../../engine/host/quote.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { runInUnit } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';

/** Text as an SQL literal, whatever standard_conforming_strings is. */
export function sqlLiteral(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return doubled.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}

/** A name as an SQL identifier, its case kept. */
export function sqlIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The command, for a script on a host, that feeds SQL from its standard input to psql in a container; ends at the first error. */
export function psqlCommand({ container, user, database }: SqlTarget): string {
  const psql = [
    'psql',
    '--no-psqlrc',
    '--quiet',
    '--no-align',
    '--tuples-only',
    '--set=ON_ERROR_STOP=1',
    '--set=VERBOSITY=terse',
  ];
  const words = ['docker', 'exec', '-i', container, ...psql, `--username=${user}`, `--dbname=${database}`];
  return words.map(quote).join(' ');
}

/**
 * The verdict where a query got no answer. A server that runs may have a reason of its own, which is then shown.
 *
 * @param state of its container, read in the same look
 * @param error of the query
 */
export function unknownWithoutAnswer(container: string, state: ContainerState | undefined, error: string): Verdict {
  return unknownUntil(state?.status === 'running' ? `${container} answers SQL: ${error}` : `${container} is running`);
}

export interface PostgresIndex {
  readonly target: SqlTarget;
  readonly name: string;
  /** `schema.table` */
  readonly table: string;
  readonly columns: readonly string[];
  /** Default btree. */
  readonly method?: string;
}

/**
 * An index. It is made CONCURRENTLY, so that writers go on, by a systemd unit that outlives the connection; what an interrupted
 * making left behind (an index marked invalid) is dropped first. An index of that name on other columns is left alone and told.
 */
export function postgresIndex(index: PostgresIndex): Resource {
  const { target, name, table } = index;
  return {
    name: `index ${name} on ${table}`,
    check: (host) => look(host, index),
    apply: async (host) => {
      const found = await read(host, index);
      if (typeof found === 'object' && 'definition' in found && found.valid) {
        throw new Problem(`index ${name} exists and is another one: ${found.definition}`, {
          hint: `${wantedDefinition(index)} is wanted: rename or drop the existing one`,
          code: exitCode.failed,
        });
      }
      await runInUnit(host, {
        unit: `rpc-playbooks-index-${name}-${shortHash(`${target.container}/${target.database}/${table}`)}`,
        title: `index ${name} on ${table}`,
        script: indexScript(index),
        progress: (reader) => progressOf(reader, index),
      });
    },
  };
}

type Found =
  | { readonly definition: string; readonly valid: boolean }
  | { readonly noAnswer: Verdict }
  | 'no index'
  | 'no table';

/** One SELECT: the table's own oid, and the index where there is one. */
async function read(host: Reader, { target, table, name }: PostgresIndex): Promise<Found> {
  const query = host.sql(
    target,
    `select t.oid is not null, pg_get_indexdef(i.indexrelid), i.indisvalid
     from (select to_regclass(${sqlLiteral(table)}) as oid) t
     left join pg_class c on c.relname = ${sqlLiteral(name)}
       and c.relnamespace = (select relnamespace from pg_class where pg_class.oid = t.oid)
     left join pg_index i on i.indexrelid = c.oid`,
  );
  const [result, state] = await Promise.all([query, host.container(target.container)]);
  if (!result.ok) return { noAnswer: unknownWithoutAnswer(target.container, state, result.error) };
  const [there, definition, valid] = result.rows[0] ?? [];
  if (there !== 't') return 'no table';
  return definition ? { definition, valid: valid === 't' } : 'no index';
}

async function look(host: Reader, index: PostgresIndex): Promise<Verdict> {
  const found = await read(host, index);
  if (typeof found === 'object' && 'noAnswer' in found) return found.noAnswer;
  if (found === 'no table') return unknownUntil(`table ${index.table} is there`);
  const wanted = wantedDefinition(index);
  if (found === 'no index') return drift([{ what: 'index', was: 'absent', wanted }]);
  if (!found.valid) return drift([{ what: 'index', was: 'invalid, left by an interrupted making', wanted }]);
  return found.definition.endsWith(wanted) ? ok : drift([{ what: 'index', was: found.definition, wanted }]);
}

/** The end of what pg_get_indexdef says of the wanted index; names that need quotes are quoted there as here. */
function wantedDefinition({ table, columns, method = 'btree' }: PostgresIndex): string {
  return `ON ${table} USING ${method} (${columns.join(', ')})`;
}

/** Outside a transaction, as CONCURRENTLY needs it: psql sends each statement of its input by itself. */
function indexScript(index: PostgresIndex): string {
  const { target, table, name, columns, method = 'btree' } = index;
  const schema = table.split('.')[0] ?? 'public';
  const full = `${sqlIdentifier(schema)}.${sqlIdentifier(name)}`;
  return `set -eu
${psqlCommand(target)} <<'SQL'
select ${sqlLiteral(`drop index concurrently ${full}`)} from pg_index where indexrelid = to_regclass(${sqlLiteral(full)}) and not indisvalid \\gexec
create index concurrently if not exists ${sqlIdentifier(name)} on ${table.split('.').map(sqlIdentifier).join('.')} using ${method} (${columns.map(sqlIdentifier).join(', ')});
SQL
`;
}

async function progressOf(host: Reader, { target, name }: PostgresIndex): Promise<Progress | undefined> {
  const result = await host.sql(
    target,
    `select phase, blocks_done, blocks_total from pg_stat_progress_create_index where datname = current_database() limit 1`,
  );
  const [phase, done, total] = (result.ok && result.rows[0]) || [];
  return phase
    ? { what: `${name}: ${phase}`, ...(Number(total) > 0 ? { done: Number(done), total: Number(total) } : {}) }
    : undefined;
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
