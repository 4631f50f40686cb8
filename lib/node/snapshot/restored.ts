import * as z from 'zod';
import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Archive } from './snapshot.ts';

/**
 * What proves that a database holds a snapshot that we restored stands in the database itself: a line in the comment on it. It names
 * the archive by its SHA-256 and the restored table by its object id. So it outlives whatever the restore tool drops, and yet ends
 * with the data: a table dropped and made anew has another id. `pg_dump` of the database does not carry it along.
 */
const mark = 'rpc-playbooks: ';

/** SQL for the comment on the database that one is connected to. */
const comment = "shobj_description((select oid from pg_database where datname = current_database()), 'pg_database')";

const markSchema = z.object({
  restore: z.enum(['started', 'complete']),
  sha256: z.string(),
  /** Day of the snapshot. */
  snapshot: z.string(),
  /** Object id of the archive's main table when the mark was made; null where there was none. */
  table: z.number().nullable(),
});

/** A line of that kind. */
type Mark = z.output<typeof markSchema>;

/** What one database holds. */
export type Holding =
  /** Restored by us and complete; what the node has added since does not matter. */
  | { readonly is: 'restored'; readonly sha256: string; readonly snapshot: string }
  /** A restore of ours did not come to its end. */
  | { readonly is: 'interrupted' }
  /** Data that we did not restore. */
  | { readonly is: 'foreign' }
  | { readonly is: 'empty' }
  | { readonly is: 'unreachable'; readonly verdict: Verdict };

/** A database and the archive that it is restored from. */
export interface Store {
  readonly archive: Archive;
  readonly target: SqlTarget;
}

/** The two databases that one snapshot fills. */
export interface Stores {
  readonly state: Store;
  readonly prover: Store;
}

/** SQL: the names of both, with commas between. */
export function databaseNames({ state, prover }: Stores): string {
  return [state, prover].map(({ target }) => sqlLiteral(target.database)).join(', ');
}

/** SQL, to stand after FROM: who uses them over the network. */
export function clientsOf(stores: Stores): string {
  return `pg_stat_activity where datname in (${databaseNames(stores)}) and client_addr is not null`;
}

/** What of a database tells whose it is. */
interface Contents {
  /** Object id of the archive's main table; undefined where there is none. */
  readonly table: number | undefined;
  /** Of that table, bytes. */
  readonly size: number;
  /** Of all tables that a restore would drop, that one among them, bytes. */
  readonly all: number;
  /** How many transactions wrote the first and the last rows of that table; a restore fills it in one. */
  readonly writers: number;
}

/**
 * Looks at one database, in one SELECT that also works where nothing has been restored. All tables of the schema count, for a restore
 * drops it whole. They are looked at only where the main table is empty: while a restore makes an index, its table is locked.
 */
export async function readHolding(host: Reader, { archive, target }: Store): Promise<Holding> {
  // A table that may be absent cannot be named in the query itself. Each of the two ranges is read without reading all of the table.
  const writers = `format('select count(distinct x) as writers from (
      select xmin::text as x from %1$s where ctid < ''(1,0)'' union all
      select xmin::text from %1$s where ctid >= ''(%2$s,0)'') rows', t.id, t.size / current_setting('block_size')::int - 1)`;
  const query = host.sql(
    target,
    `select (select line from regexp_split_to_table(${comment}, E'\\n') line where starts_with(line, ${sqlLiteral(mark)}) limit 1),
            t.id::oid, t.size, case when t.size > 0 then t.size
              else (select coalesce(sum(pg_relation_size(oid)), 0) from pg_class where relkind in ('r', 'm') and relnamespace = to_regnamespace('state')) end,
            case when t.size > 0 then (xpath('/row/writers/text()', query_to_xml(${writers}, false, true, '')))[1]::text else '0' end
     from (select id, coalesce(pg_relation_size(id), 0) as size from to_regclass(${sqlLiteral(archive.table)}) id) t`,
  );
  const [result, container] = await Promise.all([query, host.container(target.container)]);
  if (!result.ok) {
    return { is: 'unreachable', verdict: unknownWithoutAnswer(target.container, container, result.error) };
  }
  const [line, table, size, all, transactions] = result.rows[0] ?? [];
  return holding(line ?? undefined, {
    table: table ? Number(table) : undefined,
    size: Number(size),
    all: Number(all),
    writers: Number(transactions),
  });
}

/** @param line our line in the comment on the database */
export function holding(line: string | undefined, { table, size, all, writers }: Contents): Holding {
  const found = line === undefined ? undefined : parseMark(line);
  if (found?.restore === 'complete' && found.table === table && size > 0) {
    return { is: 'restored', sha256: found.sha256, snapshot: found.snapshot };
  }
  // A node has worked on it: after a restore of ours that failed, somebody has restored it in another way.
  if (found?.restore === 'started' && writers <= 1) return { is: 'interrupted' };
  return { is: all > 0 ? 'foreign' : 'empty' };
}

function parseMark(line: string): Mark | undefined {
  try {
    return markSchema.safeParse(JSON.parse(line.slice(mark.length))).data;
  } catch {
    return undefined;
  }
}

/**
 * SQL condition: whatever stands in the database that one is connected to, under a name of this archive, was put there by a restore
 * of ours, for nothing of that name was there when the first one began.
 */
export function isOurs({ sha256 }: Pick<Archive, 'sha256'>): string {
  return `exists (select from regexp_split_to_table(${comment}, E'\\n') line where starts_with(line, ${sqlLiteral(mark)})
    and line like '%"ours": true%' and line like ${sqlLiteral(`%"sha256": "${sha256}"%`)})`;
}

/**
 * SQL, for a superuser connected to the database, that puts the mark; what else the comment says is kept.
 *
 * @param ours whether it is known now that nothing stands there under a name of the archive; what was known stays known
 */
export function markStatement(
  restore: Mark['restore'],
  archive: Archive,
  snapshot: string,
  { ours = false }: { readonly ours?: boolean } = {},
): string {
  const { sha256, table } = archive;
  return `do $mark$
declare
  others text := (select string_agg(line, E'\\n') from regexp_split_to_table(${comment}, E'\\n') line where not starts_with(line, ${sqlLiteral(mark)}));
  own text := ${sqlLiteral(mark)} || (jsonb_build_object('restore', ${sqlLiteral(restore)}, 'sha256', ${sqlLiteral(sha256)}, 'snapshot', ${sqlLiteral(snapshot)},
    'table', to_regclass(${sqlLiteral(table)})::oid::bigint, 'at', date_trunc('second', now()),
    'ours', ${ours ? 'true' : isOurs(archive)}))::text;
begin
  execute format('comment on database %I is %L', current_database(), concat_ws(E'\\n', others, own));
end $mark$;
`;
}

/** What is to be done with the two databases. */
export type Decision = 'keep' | 'restore' | 'refuse' | 'wait';

/**
 * A restored database is never restored over again, not even by another snapshot, unless the inventory says that what is there may
 * be replaced; nor is one restored that holds what we did not restore.
 */
export function decide(
  state: Holding,
  prover: Holding,
  wanted: { state: string; prover: string; replaceExisting: boolean },
): Decision {
  const holdings = [state, prover];
  if (holdings.some(({ is }) => is === 'unreachable')) return 'wait';
  if (state.is === 'restored' && prover.is === 'restored') {
    const same = state.sha256 === wanted.state && prover.sha256 === wanted.prover;
    return same || !wanted.replaceExisting ? 'keep' : 'restore';
  }
  const holdsData = holdings.some(({ is }) => is === 'foreign' || is === 'restored');
  const interrupted = holdings.some(({ is }) => is === 'interrupted');
  // Our own restore begins by marking both: one that is marked complete beside one that is not yet is still our own work.
  const ours = interrupted && !holdings.some(({ is }) => is === 'foreign');
  return holdsData && !ours && !wanted.replaceExisting ? 'refuse' : 'restore';
}

/** What is there, in words. */
function describeHoldings(state: Holding, prover: Holding): string {
  const describe = (holding: Holding) => {
    switch (holding.is) {
      case 'restored':
        return `holds the snapshot of ${holding.snapshot} (${holding.sha256.slice(0, 12)})`;
      case 'interrupted':
        return 'holds a restore that did not come to its end';
      case 'foreign':
        return 'holds data that was not restored by this tool';
      case 'empty':
        return 'is empty';
      case 'unreachable':
        return 'does not answer';
    }
  };
  return `the state database ${describe(state)}, the prover database ${describe(prover)}`;
}

/** What a look at both databases came to. */
export interface Seen {
  readonly decision: Decision;
  /** What is there, in words. */
  readonly description: string;
  /** Whether a restore of ours has begun on one of them, and not come to its end. */
  readonly started: boolean;
  /** Whether the snapshot is restored. */
  readonly verdict: Verdict;
}

/** Looks at both databases and decides. */
export async function lookAtStores(host: Reader, stores: Stores, replaceExisting: boolean): Promise<Seen> {
  const [state, prover] = await Promise.all([readHolding(host, stores.state), readHolding(host, stores.prover)]);
  const wanted = { state: stores.state.archive.sha256, prover: stores.prover.archive.sha256, replaceExisting };
  const decision = decide(state, prover, wanted);
  const description = describeHoldings(state, prover);
  const unreachable = [state, prover].find((holding) => holding.is === 'unreachable');
  return {
    decision,
    description,
    started: [state, prover].some(({ is }) => is === 'interrupted'),
    verdict: unreachable?.verdict ?? (decision === 'keep' ? ok : drift(description)),
  };
}
