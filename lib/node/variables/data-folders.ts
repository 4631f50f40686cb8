import type { Variables } from './variables.ts';

/** The data of a server that lies in folders of its own. */
export const dataNames = ['state-db', 'pool-db', 'backup'] as const;
export type DataName = (typeof dataNames)[number];

/** The folder of one kind of data; for `backup` the repository of backups. */
export function dataFolder({ paths }: Pick<Variables, 'paths'>, name: DataName): string {
  return `${paths.data}/${name}`;
}

/** The folders with data of a server, by name. */
export function dataFolders(
  groups: readonly string[],
  vars: Pick<Variables, 'paths'>,
): ReadonlyMap<DataName, string> {
  const has = (...some: readonly string[]) => some.some((group) => groups.includes(group));
  const names: readonly DataName[] = [
    ...(has('database', 'replica') ? (['state-db'] as const) : []),
    ...(has('database', 'rpc') ? (['pool-db'] as const) : []),
    ...(has('backup') ? (['backup'] as const) : []),
  ];
  return new Map(names.map((name) => [name, dataFolder(vars, name)]));
}

/**
 * Folders whose file systems must not fill up, beside Docker's own. A database may be on a disk of
 * its own, mounted below `paths.data`.
 */
export function watchedFolders(groups: readonly string[], vars: Pick<Variables, 'paths'>): readonly string[] {
  return ['/', vars.paths.data, ...dataFolders(groups, vars).values()];
}
