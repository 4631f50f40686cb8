import { join, resolve, sep } from 'node:path';
import { inventoryNames, isInventoryPath } from '../../engine/inventory/outline.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { marker } from '../project/marked-folder.mjs';
import { installation, projectFolder } from '../project/project-folder.ts';

/**
 * Inventories of this project are found by their names in `inventory/`. A missing file in `.lab`
 * is one that the lab creates.
 */
export const projectInventories = {
  folder: join(projectFolder, 'inventory'),
  missingFileHint: (path: string): string | undefined =>
    resolve(path).startsWith(join(installation, '.lab') + sep)
      ? 'the lab makes this file: npm run lab:up'
      : undefined,
};

/**
 * The inventory that a command line names. None is used by default: a forgotten option must not
 * choose servers.
 *
 * @param given the value of `--inventory`
 * @throws Problem with the project's inventories where it is missing, and for a name where the
 * installed program is in no project folder: its own inventory of this name has other servers
 */
export function givenInventory(given: string | undefined): string {
  if (given && isOfNoProject(given))
    throw new Problem(
      `--inventory ${given} is a name, and no project folder is here or above: none has ${marker}`,
      { hint: 'go into your project folder, or name it: -C DIR; init makes one' },
    );
  if (given) return given;
  const names = inventoryNames(projectInventories.folder);
  const known = names.length > 0 ? `, one of ${names.join(', ')}` : '';
  throw new Problem('no --inventory given', { hint: `--inventory NAME${known}; or the path of a file` });
}

/** The lab's inventories are of the program wherever it is started. */
function isOfNoProject(given: string): boolean {
  return (
    process.env.RPC_PLAYBOOKS_PROGRAM !== undefined &&
    projectFolder === installation &&
    !`${process.cwd()}/`.startsWith(`${installation}/`) &&
    !isInventoryPath(given) &&
    !/^lab(-|$)/.test(given)
  );
}
