import { readFileSync } from 'node:fs';
import type { ContainerState, Progress, Reader, SqlTarget } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { runInUnit } from '../../engine/resource/job/job.ts';
import type { Resource, Verdict, Work } from '../../engine/resource/resource.ts';
import { drift, driftOf, expectation, ok, unknownUntil } from '../../engine/resource/resource.ts';

const createIndex = readFileSync(new URL('../../../templates/host/create-index.sh', import.meta.url), 'utf8');

/** Text as an SQL literal, whatever standard_conforming_strings is. */
export function sqlLiteral(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return doubled.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}

/**
 * The verdict where a query got no answer. A server that runs may have a reason, which is then
 * shown.
 *
 * @param state of its container, read at the same time
 * @param error of the query
 */
export function unknownWithoutAnswer(
  container: string,
  state: ContainerState | undefined,
  error: string,
): Verdict {
  return unknownUntil(
    state?.status === 'running' ? `${container} answers SQL: ${error}` : `${container} is running`,
  );
}

/** A btree index. */
export interface PostgresIndex {
  readonly target: SqlTarget;
  readonly name: string;
  /** `schema.table` */
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * An index. A systemd unit that outlives the connection creates it CONCURRENTLY, so that writers
 * go on, and first drops what an interrupted creation left (an index marked invalid). As with IF
 * NOT EXISTS, an index of that name on other columns is enough.
 */
export function postgresIndex(index: PostgresIndex): Work {
  const { target, name, table, columns } = index;
  const title = `index ${name} on ${table}`;
  const { container, user, database } = target;
  const [schema = '', relation = ''] = table.split('.');
  const wanted = definitionOf(index);
  const hash = sha256Of(`${container}/${database}/${table}`).slice(0, 8);
  return {
    name: title,
    async check(host) {
      const found = await read(host, index);
      if (typeof found === 'object' && 'noAnswer' in found) return found.noAnswer;
      if (found === 'no table') return unknownUntil(`table ${table} is there`);
      if (found === 'no index') return drift([{ what: 'index', was: 'absent', wanted }]);
      if (!found.valid)
        return drift([{ what: 'index', was: 'invalid, left by an interrupted creation', wanted }]);
      return ok;
    },
    async work(host) {
      const settings = { CONTAINER: container, DATABASE_USER: user, DATABASE: database };
      const names = { SCHEMA: schema, TABLE: relation, INDEX: name, COLUMNS: columns.join(' ') };
      await runInUnit(host, {
        unit: `rpc-playbooks-index-${name}-${hash}`,
        title,
        script: shellSettings({ ...settings, ...names }) + createIndex,
        progress: (reader) => progressOf(reader, index),
      });
    },
  };
}

/**
 * A warning where an index of that name is on other columns: IF NOT EXISTS accepts it, and the
 * queries are slower than they could be.
 */
export function indexesHaveTheirColumns(indexes: readonly PostgresIndex[]): Resource {
  return expectation('indexes are on the columns of the specification', {
    check: async (host) => {
      const all = await Promise.all(indexes.map((index) => read(host, index)));
      return driftOf(
        indexes.flatMap((index, at) => {
          const found = all[at];
          if (typeof found !== 'object' || 'noAnswer' in found || !found.valid) return [];
          const wanted = definitionOf(index);
          return found.definition.endsWith(wanted)
            ? []
            : [
                {
                  what: `index ${index.name}`,
                  was: found.definition,
                  wanted: `CREATE INDEX ${index.name} ${wanted}`,
                },
              ];
        }),
      );
    },
    severity: 'should',
    hint: 'rename or drop each index above; the next deploy creates it on the columns of the specification',
  });
}

/** As pg_get_indexdef ends for this index; it quotes names that need it. */
function definitionOf({ table, columns }: PostgresIndex): string {
  return `ON ${table} USING btree (${columns.join(', ')})`;
}

type Found =
  | { readonly definition: string; readonly valid: boolean }
  | { readonly noAnswer: Verdict }
  | 'no index'
  | 'no table';

/** Reads the table's object id and the index in one SELECT. */
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

async function progressOf(host: Reader, { target, name }: PostgresIndex): Promise<Progress | undefined> {
  const result = await host.sql(
    target,
    `select phase, blocks_done, blocks_total from pg_stat_progress_create_index where datname = current_database() limit 1`,
  );
  const [phase, done, total] = (result.ok && result.rows[0]) || [];
  return phase
    ? {
        what: `${name}: ${phase}`,
        ...(Number(total) > 0 ? { done: Number(done), total: Number(total) } : {}),
      }
    : undefined;
}
