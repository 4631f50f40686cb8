import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

/** The results of the checks of the repository. */
export const resultsFolder = `/var/lib/${product}/backup`;

/** The home of the user barman, by Debian's package. */
export const barmansHome = '/var/lib/barman';

/** Barman's folder of the server: base backups and write-ahead log. */
export function repositoryOf(vars: Variables): string {
  return `${dataFolder(vars, 'backup')}/state-db`;
}

/** What Barman writes to. */
export function foldersOfBarman(vars: Variables): readonly string[] {
  return [dataFolder(vars, 'backup'), barmansHome, '/var/log/barman'];
}
