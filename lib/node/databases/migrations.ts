import { readFileSync } from 'node:fs';
import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { command, type Step } from '../../engine/host/step.ts';
import { versionOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { poolDatabase, stateDatabase } from './databases.ts';
import { sqlLiteral } from './postgres.ts';

// The node keeps its migrations in public.gorp_migrations, by name, and ends at its start where it
// finds a name that it does not know. No version of it undoes a migration.

/**
 * The databases that the node migrates: the synchronizer the state database, each program the pool
 * database of its host.
 */
export type MigratedDatabase = 'state' | 'pool';

type Known = Readonly<Record<MigratedDatabase, readonly string[]>>;

/** Both names of one file: the older generation's, and the current one's. */
const names = ['supernets-0001.sql', 'validium-001.sql'] as const;

/** The tables that this file makes. */
const tables = ['pool.policy', 'pool.acl'] as const;

const numbered = (last: number) =>
  Array.from({ length: last }, (_, at) => `${String(at + 1).padStart(4, '0')}.sql`);

const older: Known = { state: numbered(8), pool: [...numbered(10), names[0]] };

/**
 * By the tag of the node's image. The state database's migrations are all that there are, as seen
 * with these versions. A chain may have migrations of its own for the pool database: what is not
 * named here is looked up in the program itself.
 */
const byVersion: ReadonlyMap<string, Known> = new Map([
  ['v1.0.0', older],
  ['v1.2.3', older],
  ['v3.1.0', { state: [...numbered(21), names[1]], pool: [...numbered(13), names[1]] }],
]);

/**
 * The migrations of the state database that a version of the node knows.
 *
 * @returns undefined for a version that nobody has looked at
 */
export function knownStateMigrations({ images }: Pick<Variables, 'images'>): readonly string[] | undefined {
  return byVersion.get(versionOf(images.node))?.state;
}

/** What a version of the node finds in a database. */
export type Found =
  /** All migrations are known, or there are none yet. */
  | { readonly is: 'known' }
  /** They are once this one has the name that the version gives it. */
  | { readonly is: 'renamed'; readonly was: string; readonly wanted: string }
  | { readonly is: 'strange'; readonly unknown: readonly string[] }
  /** What has to be so before it can be known, and whether the image is what is missing. */
  | { readonly is: 'unread'; readonly until: string; readonly awaitsImage: boolean };

const targetOf = (database: MigratedDatabase, vars: Variables) =>
  database === 'state' ? stateDatabase(vars) : poolDatabase(vars);

/**
 * Compares the migrations of a host's database with those that the inventory's version of the node
 * knows. A database that is not there yet has none.
 *
 * @param isServed whether a program of this version runs with the database, so it knows all that
 * is there
 */
export async function findMigrations(
  host: Reader,
  database: MigratedDatabase,
  vars: Variables,
  isServed: Promise<boolean>,
): Promise<Found> {
  const seen = await readMigrations(host, targetOf(database, vars));
  if ('until' in seen) return { is: 'unread', until: seen.until, awaitsImage: false };
  const known = byVersion.get(versionOf(vars.images.node))?.[database];
  const isCertain = (name: string) => known && (database === 'state' || known.includes(name) || isPair(name));
  const asked = seen.names.filter((name) => !isCertain(name));
  const isLookedUp = asked.length > 0 && !(await isServed);
  const missing = isLookedUp ? await missingIn(host, vars, [...asked, ...names]) : [];
  if (typeof missing === 'string') return { is: 'unread', until: missing, awaitsImage: true };
  const isKnown = (name: string) =>
    (isCertain(name) ? known?.includes(name) : !missing.includes(name)) ?? false;
  const unknown = seen.names.filter((name) => !isKnown(name));
  if (unknown.length === 0) return { is: 'known' };
  const rename = database === 'pool' && seen.hasTables ? renameOf(seen.names, isKnown) : undefined;
  const rest = unknown.filter((name) => name !== rename?.was);
  return rename && rest.length === 0 ? { is: 'renamed', ...rename } : { is: 'strange', unknown: rest };
}

const isPair = (name: string) => names.some((each) => each === name);

/**
 * The one name of the pair that the database has and the version does not know, where the version
 * knows the other one.
 */
function renameOf(recorded: readonly string[], isKnown: (name: string) => boolean) {
  const [was, ...more] = names.filter((name) => recorded.includes(name));
  const wanted = names.find((name) => name !== was);
  if (was === undefined || wanted === undefined || more.length > 0) return undefined;
  return !isKnown(was) && isKnown(wanted) ? { was, wanted } : undefined;
}

/**
 * @returns the names in their order, and whether the tables of the renamed file are there; or what
 * has to be so first
 */
async function readMigrations(host: Reader, target: SqlTarget) {
  const { container } = target;
  const there = `to_regclass('public.gorp_migrations') is not null`;
  const made = tables.map((table) => `to_regclass('${table}') is not null`).join(' and ');
  const [state, table, rows] = await Promise.all([
    host.container(container),
    host.sql(target, `select ${there}, ${made}`),
    host.sql(target, 'select id from public.gorp_migrations order by id'),
  ]);
  if (!state) return { names: [], hasTables: false };
  if (state.status !== 'running')
    return { until: `${container} is running, so that its migrations can be read` };
  if (!table.ok) return { until: `${container} answers SQL: ${table.error}` };
  const [isThere, hasTables] = table.rows[0] ?? [];
  if (isThere !== 't') return { names: [], hasTables: false };
  if (!rows.ok) return { until: `${container} answers SQL: ${rows.error}` };
  return { names: rows.rows.map(([id]) => id ?? ''), hasTables: hasTables === 't' };
}

/**
 * The step that renames a migration of a pool database. It changes nothing where the rows are no
 * longer as `findMigrations` saw them.
 */
export function renameMigration(vars: Variables, { was, wanted }: Extract<Found, { is: 'renamed' }>): Step {
  const { container, user, database } = poolDatabase(vars);
  const [from, to] = [sqlLiteral(was), sqlLiteral(wanted)];
  const statement = `update public.gorp_migrations set id = ${to} where id = ${from} and not exists (select from public.gorp_migrations where id = ${to})`;
  return command`docker exec ${container} psql -XqU ${user} -d ${database} --set=ON_ERROR_STOP=1 -c ${statement}`;
}

const missingMigrations = readFileSync(
  new URL('../../../templates/host/missing-migrations.sh', import.meta.url),
  'utf8',
);

/** A start of a container on a server under load. Seconds. */
const searchLimit = 60;

/**
 * @returns those names that the node's program in its image does not have; or what has to be so
 * first
 */
async function missingIn(
  host: Reader,
  { images: { node }, node_binary }: Variables,
  asked: readonly string[],
): Promise<string | readonly string[]> {
  const [image, missing] = await Promise.all([
    host.$`docker image inspect --format ${'{{.Id}}'} ${node}`,
    host.$({
      timeoutSeconds: searchLimit,
    })`sh -c ${missingMigrations} missing-migrations ${node} ${node_binary} ${asked}`,
  ]);
  if (!image.ok) return `image ${node} is there`;
  if (missing.ok) return missing.text().split('\n');
  return `image ${node} shows which migrations it knows: ${missing.stderr.trim().split('\n').at(-1) ?? ''}`;
}
