import type { Variables } from './variables.ts';

/** The data of a server that lies in folders of its own. */
export type DataName = 'state-db' | 'pool-db' | 'backup';

/** The repository of backups. */
export const backupFolder = ({ paths }: Pick<Variables, 'paths'>) => `${paths.data}/backup`;

/** The folders with data of a server, by name. */
export function dataFolders(groups: readonly string[], vars: Pick<Variables, 'paths'>): ReadonlyMap<DataName, string> {
  const has = (...some: readonly string[]) => some.some((group) => groups.includes(group));
  return new Map<DataName, string>([
    ...(has('database', 'replica') ? [['state-db', `${vars.paths.data}/state-db`] as const] : []),
    ...(has('database', 'rpc') ? [['pool-db', `${vars.paths.data}/pool-db`] as const] : []),
    ...(has('backup') ? [['backup', backupFolder(vars)] as const] : []),
  ]);
}
