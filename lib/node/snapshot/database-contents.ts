import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { proverDatabase, stateDatabase } from '../databases/databases.ts';
import { sqlLiteral, unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import type { Archive } from './archive.ts';
import { archivesOf } from './snapshot.ts';

const query = readFileSync(new URL('../../../templates/host/database-contents.sql', import.meta.url), 'utf8');

/**
 * The proof that a database holds a snapshot that we restored is in the database itself: a line of
 * JSON in the comment on it, which templates/host/restore-snapshot.sh writes. It names the archive
 * by its SHA-256 and the restored table by its object id. So it outlives what the restore tool
 * drops, and yet ends with the data: a table that is created again has another id. `pg_dump` of
 * the database does not include it.
 */
const markSchema = z.object({
  restore: z.enum(['started', 'complete']),
  sha256: z.string(),
  /** Day of the snapshot. */
  snapshot: z.string(),
  /**
   * Object id of the archive's main table when the mark was made; null where there was no such
   * table.
   */
  table: z.number().nullable(),
});

/** What one database holds. */
type Contents =
  /** A complete restore of ours; what the node added since does not matter. */
  | { readonly is: 'restored'; readonly sha256: string; readonly snapshot: string }
  /** A restore of ours that did not finish. */
  | { readonly is: 'interrupted' }
  /** Data that we did not restore. */
  | { readonly is: 'foreign' }
  | { readonly is: 'empty' }
  | { readonly is: 'unreachable'; readonly verdict: Verdict };

/** A database and the archive that it is restored from. */
export interface SnapshotDatabase {
  readonly archive: Archive;
  readonly target: SqlTarget;
}

/** The two databases that one snapshot fills. */
export type SnapshotDatabases = Readonly<Record<Archive['store'], SnapshotDatabase>>;

/** The databases of an inventory, each with its archive. */
export function databasesOf(vars: Variables): SnapshotDatabases {
  const { state, prover } = archivesOf(vars);
  return {
    state: { archive: state, target: stateDatabase(vars) },
    prover: { archive: prover, target: proverDatabase(vars) },
  };
}

/**
 * Reads what one database holds. It counts all tables of the schema, as a restore drops all of
 * them.
 */
async function readContents(host: Reader, { archive, target }: SnapshotDatabase): Promise<Contents> {
  const [result, container] = await Promise.all([
    host.sql(target, query.replaceAll(":'table'", sqlLiteral(archive.table))),
    host.container(target.container),
  ]);
  if (!result.ok) {
    return { is: 'unreachable', verdict: unknownWithoutAnswer(target.container, container, result.error) };
  }
  const [line, table, size, allTables, writers] = result.rows[0] ?? [];
  const mark = markSchema.safeParse(parseJson(line ?? '')).data;
  const isSameTable = mark?.table === (table ? Number(table) : undefined);
  if (mark?.restore === 'complete' && isSameTable && Number(size) > 0) {
    return { is: 'restored', sha256: mark.sha256, snapshot: mark.snapshot };
  }
  // A restore fills the table in one transaction. More of them are a node's: after our restore
  // failed, somebody restored in another way.
  if (mark?.restore === 'started' && Number(writers) <= 1) return { is: 'interrupted' };
  return { is: Number(allTables) > 0 ? 'foreign' : 'empty' };
}

/** What both databases hold, and what follows from it. */
export interface Assessment {
  /** Whether to keep the data, restore, refuse to restore, or wait for the database server. */
  readonly decision: 'keep' | 'restore' | 'refuse' | 'wait';
  /** What is there, in words. */
  readonly description: string;
  /** Whether a restore of ours started on one of them and did not finish. */
  readonly interrupted: boolean;
  /** Whether the snapshot is restored. */
  readonly verdict: Verdict;
}

/**
 * Reads both databases and decides what to do. Restored databases are kept, even when the
 * inventory names another snapshot by now, and data that we did not restore are never dropped,
 * unless the inventory says that what is there may be replaced.
 */
export async function assessDatabases(
  host: Reader,
  { state, prover }: SnapshotDatabases,
  replaceExisting: boolean,
): Promise<Assessment> {
  const both = await Promise.all([readContents(host, state), readContents(host, prover)]);
  const has = (kind: Contents['is']) => both.some(({ is }) => is === kind);
  const interrupted = has('interrupted');
  const description = `the state database ${describe(both[0])}, the prover database ${describe(both[1])}`;
  const unreachable = both.find((contents) => contents.is === 'unreachable');
  if (unreachable) return { decision: 'wait', description, interrupted, verdict: unreachable.verdict };
  const [wantedState, wantedProver] = [state.archive.sha256, prover.archive.sha256];
  const isWanted = (contents: Contents, sha256: string) =>
    contents.is === 'restored' && contents.sha256 === sha256;
  const keep =
    both.every(({ is }) => is === 'restored') &&
    ((isWanted(both[0], wantedState) && isWanted(both[1], wantedProver)) || !replaceExisting);
  if (keep) return { decision: 'keep', description, interrupted, verdict: ok };
  // Our restore marks one database as complete before the other: a complete one beside a started
  // one is still our own work.
  const holdsData = has('foreign') || (has('restored') && !interrupted);
  const decision = holdsData && !replaceExisting ? 'refuse' : 'restore';
  return { decision, description, interrupted, verdict: drift(description) };
}

function describe(contents: Contents): string {
  switch (contents.is) {
    case 'restored':
      return `holds the snapshot of ${contents.snapshot} (${contents.sha256.slice(0, 12)})`;
    case 'interrupted':
      return 'holds a restore that did not finish';
    case 'foreign':
      return 'holds data that was not restored by this tool';
    case 'empty':
      return 'is empty';
    case 'unreachable':
      return 'does not answer';
  }
}
