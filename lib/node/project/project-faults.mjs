// What another user could change of a project folder. JavaScript: it is asked before anything of the folder is read.
import { readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { distrust } from '../../engine/file/trust.mjs';
import { marker } from './marked-folder.mjs';

/** What decides what runs, with all that is in it. */
const contents = [marker, 'package.json', 'inventory', 'templates', 'roles', 'playbooks'];

/**
 * What another user could change of a project folder: of the path to it, and of all in it that decides what runs. A folder is trusted
 * or not as a whole, so all of it is said at once.
 *
 * @param {string} project absolute path
 * @returns {import('../../engine/file/trust.mjs').Fault[]}
 */
export function projectFaults(project) {
  const faults = [...distrust(project, true), ...distrust(join(project, marker))];
  // In the folder of another user, all the rest is that user's, too.
  if (faults.some(({ kind, path }) => kind === 'owner' && path === project)) return faults;
  for (const name of contents) faults.push(...faultsIn(join(project, name)));
  faults.push(...distrust(join(project, '.runs'), true), ...packageFaults(project));
  return faults;
}

/**
 * Of a path and all under it, through links.
 *
 * @param {string} path
 * @param {Set<string>} [met] folders, by their paths without links: links could make a circle
 * @returns {import('../../engine/file/trust.mjs').Fault[]}
 */
function faultsIn(path, met = new Set()) {
  const faults = distrust(path, true);
  if (faults.length > 0) return faults;
  return namesIn(path, met).flatMap((name) => faultsIn(join(path, name), met));
}

/** @param {string} folder @param {Set<string>} [met] @returns {string[]} empty where there is nothing that we could read */
function namesIn(folder, met) {
  try {
    const real = realpathSync(folder);
    if (met?.has(real)) return [];
    met?.add(real);
    return readdirSync(folder);
  } catch {
    // It is not there, is a file, or is closed to us. An editor's lock is a link to nowhere.
    return [];
  }
}

/**
 * Of the folders where Node looks for the packages that roles and playbooks import: here and upwards.
 *
 * @param {string} project
 * @returns {import('../../engine/file/trust.mjs').Fault[]}
 */
function packageFaults(project) {
  if (!['roles', 'playbooks'].some((name) => namesIn(join(project, name)).length > 0)) return [];
  const faults = [];
  for (let folder = project; ; folder = dirname(folder)) {
    const packages = join(folder, 'node_modules');
    const names = namesIn(packages);
    if (names.length > 0) faults.push(...[packages, ...names.map((name) => join(packages, name))].flatMap(ofName));
    if (folder === dirname(folder)) return faults;
  }
}

/** @param {string} path */
const ofName = (path) => distrust(path, true);
