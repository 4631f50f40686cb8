import { readScript } from '../../engine/host/script.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { targetOf } from './target.ts';

const newestBase = readScript(
  ...['base-backups', 'newest-base'].map(
    (name) => new URL(`../../../templates/host/${name}.sh`, import.meta.url),
  ),
);

/** The groups whose hosts can be the source of a physical snapshot, the one that costs least first. */
const sourceGroups = ['replica', 'backup', 'database'] as const;

/** Where a physical snapshot is taken. */
export interface PhysicalSource {
  /** A running server, or the repository of the backup host. */
  readonly kind: 'server' | 'repository';
  /** For the plan: which host, and why. */
  readonly why: string;
}

/**
 * The source that this host is.
 *
 * @returns undefined where the host has neither a server nor a repository
 */
export function sourceHere(context: Context<Variables>): PhysicalSource | undefined {
  const { host, hosts, given } = context;
  const group = groupOf(host);
  if (!group) return undefined;
  const named = given.from !== undefined || targetOf(given.to ?? '').host !== undefined;
  const reason = named ? `as ${given.from === undefined ? '--to' : '--from'} says` : reasons[group];
  const isOnlyBackup = group === 'backup';
  const others = hosts.filter((each) => each.name !== host.name && groupOf(each) === group).length;
  const words = others > 0 && !named ? `${reason}, the first of ${others + 1}` : reason;
  return { kind: isOnlyBackup ? 'repository' : 'server', why: `${host.name}: ${words}` };
}

const reasons: Readonly<Record<(typeof sourceGroups)[number], string>> = {
  replica: 'a replica, so the Database+Sync server does no work for it',
  backup: 'the backup host, as there is no replica, so no running server does work for it',
  database: 'there is no replica and no backup host, so it does this work beside its own',
};

const groupOf = ({ groups }: Pick<InventoryHost<Variables>, 'groups'>) =>
  sourceGroups.find((group) => groups.includes(group));

/** The source can be copied: its server answers, or its repository has a base backup. */
export function sourceCanBeCopied(context: Context<Variables>, { kind }: PhysicalSource): Resource {
  const { host, hosts, vars } = context;
  const hint = 'name another source: --from HOST, a replica, the backup host or the Database+Sync server';
  if (kind === 'server') {
    return expectation(`state-db of ${host.name} can be copied`, {
      check: async (reader) =>
        (await reader.sql(stateDatabase(databaseHost(hosts).vars), 'select 1')).ok
          ? ok
          : drift('it does not answer'),
      hint,
    });
  }
  const repository = `${dataFolder(vars, 'backup')}/state-db`;
  return expectation(`the repository of ${host.name} can be copied`, {
    check: async (reader) =>
      (await reader.$`sh -c ${newestBase} newest-base ${repository}`).text() === ''
        ? drift(`${repository} has no whole base backup`)
        : ok,
    hint,
  });
}
