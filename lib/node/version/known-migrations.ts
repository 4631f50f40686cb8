import type { Reader } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import {
  type Found,
  findMigrations,
  type MigratedDatabase,
  renameMigration,
} from '../databases/migrations.ts';
import { versionOf } from '../variables/generation.ts';
import { nodeContainers } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { isOfThisVersion, otherVersion } from './node-container.ts';

// The node ends at its start where a database has a migration that it does not know. So that is
// asked before anything is stopped.

type Host = InventoryHost<Variables>;

/** What the operator can do about a migration that a version does not know. */
export const migrationsHint =
  'no version of the node undoes a migration: deploy one that knows them, or go back to a snapshot or a backup from before (docs/upgrade.md)';

/** The databases of a host that its programs migrate, or need migrated. */
const databasesOf = ({ groups }: Pick<Host, 'groups'>): readonly MigratedDatabase[] =>
  groups.includes('database') ? ['state', 'pool'] : ['pool'];

/**
 * Those whose content stays. A snapshot that replaces the state database is looked at when it is
 * there.
 */
const keptDatabasesOf = (own: Host): readonly MigratedDatabase[] =>
  databasesOf(own).filter((database) => database !== 'state' || !own.vars.snapshot.replace_existing);

/**
 * What the inventory's version of the node finds in a database of a host, and whether another
 * version runs with it.
 */
async function find(host: Reader, own: Host, database: MigratedDatabase) {
  // Asked in the same request as the database.
  const asked = Promise.all(nodeContainers(own.groups).map((name) => host.container(name)));
  const isServed = asked.then((nodes) =>
    nodes.some(
      (node) => node?.status === 'running' && node.restartCount === 0 && isOfThisVersion(node, own.vars),
    ),
  );
  const [nodes, found] = await Promise.all([asked, findMigrations(host, database, own.vars, isServed)]);
  return { found, isOther: nodes.some((node) => otherVersion(node, own.vars) !== undefined) };
}

function verdictOn(found: Found, database: MigratedDatabase, vars: Variables): Verdict {
  if (found.is === 'strange') return refused(describe(found.unknown, database, vars), migrationsHint);
  return found.is === 'unread' ? unknownUntil(found.until) : ok;
}

/** How many unknown migrations are named. */
const mostNames = 3;

function describe(unknown: readonly string[], database: MigratedDatabase, { images }: Variables): string {
  const node = `node ${versionOf(images.node)}`;
  if (unknown.length === 1) return `the ${database} database has ${unknown[0]}, which ${node} does not know`;
  const more = unknown.length > mostNames ? ` and ${unknown.length - mostNames} more` : '';
  const names = `${unknown.slice(0, mostNames).join(', ')}${more}`;
  return `the ${database} database has ${unknown.length} migrations that ${node} does not know: ${names}`;
}

/**
 * The condition of a change of the version on one host of the inventory: its databases have only
 * migrations that the version knows, or will know by the name that it gives them. Unknown where a
 * database does not run.
 */
export async function databasesAreUnderstood(host: Reader, hosts: readonly Host[]): Promise<Verdict> {
  const own = hosts.find(({ name }) => name === host.name);
  if (!own?.groups.some((group) => group === 'database' || group === 'rpc')) return ok;
  const verdicts = await Promise.all(
    keptDatabasesOf(own).map(async (database) =>
      verdictOn((await find(host, own, database)).found, database, own.vars),
    ),
  );
  return verdicts.find(({ is }) => is === 'drift') ?? verdicts.find(({ is }) => is === 'unknown') ?? ok;
}

/**
 * Both databases of a host, before anything is changed. One that does not run matters only where
 * another version is to be stopped. An image that is not there yet is asked later, and before
 * that.
 */
export function migrationsAreKnown({ host: own, vars, roles }: Context<Variables>): Resource[] {
  // A switch, a rewind and a rollback restore no snapshot.
  const databases = roles?.has('snapshot') === false ? databasesOf(own) : keptDatabasesOf(own);
  return databases.map((database) =>
    expectation(titleOf(database, vars), {
      check: async (host) => {
        const { found, isOther } = await find(host, own, database);
        const isForLater = found.is === 'unread' && (found.awaitsImage || !isOther);
        return isForLater ? ok : verdictOn(found, database, vars);
      },
    }),
  );
}

const titleOf = (database: MigratedDatabase, { images }: Variables) =>
  `${database} database has only migrations that node ${versionOf(images.node)} knows`;

/**
 * The state database in its turn: before the synchronizer starts, and after a snapshot was
 * restored.
 */
export function stateMigrationsAreKnown({ host: own, vars }: Context<Variables>): Resource {
  return expectation(titleOf('state', vars), {
    check: async (host) => verdictOn((await find(host, own, 'state')).found, 'state', vars),
  });
}

/**
 * The pool database of a host has the names that the version gives its migrations, before its
 * program starts: the generations have two names for one file. A database with any other unknown
 * migration is not touched.
 */
export function poolIsCarriedOver({ host: own, vars }: Context<Variables>): Resource {
  return {
    name: `pool database has the migration names of node ${versionOf(vars.images.node)}`,
    check: async (host) => {
      const { found } = await find(host, own, 'pool');
      if (found.is !== 'renamed') return verdictOn(found, 'pool', vars);
      const { was, wanted } = found;
      return drift([{ what: 'migration', was, wanted }], [renameMigration(vars, found)]);
    },
  };
}
