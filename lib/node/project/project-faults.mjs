// What another user could change of a project folder. JavaScript: it is asked before anything of
// the folder is read.
import { readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { distrust, distrustEach } from '../../engine/file/trust.mjs';
import { marker } from './marked-folder.mjs';

/** What decides what runs, with all that is in it. */
const contents = [marker, 'package.json', 'inventory', 'templates', 'roles', 'playbooks'];

/**
 * What another user could change of a project folder: of the path to it, and of all in it that
 * decides what runs. A folder is trusted or not as a whole, so all of it is said at once.
 *
 * @param {string} project absolute path
 * @returns {import('../../engine/file/trust.mjs').Fault[]}
 */
export function projectFaults(project) {
  const faults = [...distrust(project, true), ...distrust(join(project, marker))];
  const isForeign = (/** @type {string} */ folder) =>
    faults.some(({ kind, path }) => kind === 'owner' && (folder === path || folder.startsWith(`${path}/`)));
  // In the folder of another user, all the rest is that user's, too.
  if (isForeign(project)) return faults;
  const met = new Set([project]);
  const paths = [
    project,
    ...contents.flatMap((name) => pathsUnder(join(project, name), met)),
    join(project, '.runs'),
  ];
  for (const fault of distrustEach([...paths, ...packagesOf(project)]))
    if (!isForeign(dirname(fault.path))) faults.push(fault);
  return faults;
}

/**
 * A path and all under it, through links, folders before what is in them.
 *
 * @param {string} path
 * @param {Set<string>} met folders, by their paths without links: links could make a circle
 * @returns {string[]}
 */
function pathsUnder(path, met) {
  const below = entriesIn(path, met).flatMap((entry) =>
    entry.isFile() ? [join(path, entry.name)] : pathsUnder(join(path, entry.name), met),
  );
  return [path, ...below];
}

/**
 * @param {string} folder
 * @param {Set<string>} [met]
 * @returns {import('node:fs').Dirent[]} empty where there is nothing that we could read
 */
function entriesIn(folder, met) {
  try {
    const real = realpathSync(folder);
    if (met?.has(real)) return [];
    met?.add(real);
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It is not there, is a file, or is closed to us. An editor's lock is a link to nowhere.
    return [];
  }
}

/**
 * The folders where Node looks for the packages that roles and playbooks import: here and upwards.
 *
 * @param {string} project
 * @returns {string[]}
 */
function packagesOf(project) {
  if (!['roles', 'playbooks'].some((name) => entriesIn(join(project, name)).length > 0)) return [];
  const paths = [];
  for (let folder = project; ; folder = dirname(folder)) {
    const packages = join(folder, 'node_modules');
    const found = entriesIn(packages).map(({ name }) => join(packages, name));
    if (found.length > 0) paths.push(packages, ...found);
    if (folder === dirname(folder)) return paths;
  }
}
