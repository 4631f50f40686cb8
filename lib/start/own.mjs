// The roles and playbooks of a team's own folder. They run with all rights of whoever starts them.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { refusalText } from '../engine/file/trust.mjs';
import { markedFolder } from '../node/project/marked-folder.mjs';
import { projectFaults } from '../node/project/project-faults.mjs';

/**
 * The files of a subfolder of the project folder, deep.
 *
 * @param {'roles' | 'playbooks'} name
 * @returns {string[]} absolute paths; empty without a project folder, or without the subfolder
 * @throws {Error} where somebody else could have written what is in the project folder
 */
export function ownFiles(name) {
  const project = trustedProject();
  const folder = join(project ?? '', name);
  if (project === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.map((file) => join(folder, file)).sort();
}

/** @type {{ project: string | undefined } | undefined} */
let found;

/**
 * The project folder around the working directory. It is checked once.
 *
 * @throws {Error} as `ownFiles`
 */
function trustedProject() {
  if (found) return found.project;
  const project = markedFolder(process.cwd());
  const faults = project === undefined ? [] : projectFaults(project);
  if (project !== undefined && faults.length > 0) throw new Error(refusalText(faults, project));
  found = { project };
  return project;
}
