// The roles and playbooks of a team's own folder. They run with all rights of whoever starts them.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { markedFolder } from '../node/project/marked-folder.mjs';

/**
 * The files of a subfolder of the project folder, deep.
 *
 * @param {'roles' | 'playbooks'} name
 * @returns {string[]} absolute paths; empty without a project folder, or without the subfolder
 * @throws {Error} where somebody else could have written them
 */
export function ownFiles(name) {
  const project = markedFolder(process.cwd());
  const folder = join(project ?? '', name);
  if (project === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
  for (const path of [project, folder, ...files]) {
    // An editor's lock is a link to nowhere.
    const { uid, mode } = statSync(path, { throwIfNoEntry: false }) ?? { uid: 0, mode: 0 };
    if (uid !== 0 && uid !== process.getuid?.())
      throw new Error(
        `${path} belongs to another user (${uid}), whose code would run as you\n  use a copy of your own`,
      );
    if (mode & 0o022)
      throw new Error(`${path} can be changed by other users, whose code would run as you\n  chmod go-w ${path}`);
  }
  return files.sort();
}
