import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this program, with the inventories, templates and records of whoever works in a clone of it. */
export const installation = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** The file that marks a team's own folder. Its content is not read. */
const marker = 'rpc-playbooks.yaml';

/**
 * The folder with `inventory/`, `templates/` and `.runs`: the nearest one with the marker, from a folder upwards. Without one, the
 * installation. `-C DIR` changes the working directory before.
 *
 * @param from absolute path
 */
function projectFolderFrom(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, marker))) return folder;
    if (folder === dirname(folder)) return installation;
  }
}

/** The project's folder of this process. */
export const projectFolder = projectFolderFrom(process.cwd());

/** The folder of run records. */
export const recordFolder = join(projectFolder, '.runs');
