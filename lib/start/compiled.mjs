// Compiles modules of the project into a few files of JavaScript, once for each state of the sources, and imports them from there.
// To resolve and compile each of some hundred modules as it is imported takes five times as long as all else before the first
// connection.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { keep, kept } from './kept.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/rpc-playbooks');

/**
 * Modules that share what they import, as if each were imported from its own file.
 *
 * @param {readonly (readonly string[])[]} bundles TypeScript files that are to be imported, from the project's root. Those of one
 *   bundle are loaded together when the first of them is: to load many small files takes twice as long
 * @returns {Promise<(file: string) => Promise<any>>} imports one of them
 */
export async function compiled(bundles) {
  const from = await folderOf(bundles);
  // Read as each module is loaded, and so only where a stack is going to be shown.
  if (process.argv.includes('--verbose')) process.setSourceMapsEnabled(true);
  return async (file) => {
    const bundle = bundles.findIndex((files) => files.includes(file));
    const { modules } = await import(pathToFileURL(join(from, `${bundle}.mjs`)).href);
    return modules[file];
  };
}

/**
 * Whether a file is a module of the program, and no test of one, and none that an editor or a Mac left beside it.
 *
 * @param {string} path
 */
export function isSource(path) {
  const name = basename(path);
  return name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('.');
}

/** @param {readonly (readonly string[])[]} bundles */
async function folderOf(bundles) {
  for (;;) {
    const state = stateOf(bundles);
    const folder = kept(cache, state);
    if (folder !== undefined) return folder;
    const { compile } = await import('./compile.mjs');
    const files = await compile(bundles);
    // Otherwise something was changed meanwhile, and this may be a mixture.
    if (state === stateOf(bundles)) return keep(files, cache, state);
  }
}

/**
 * All that what is compiled depends on, as one name: where the project is, its modules, and the packages.
 *
 * @param {readonly (readonly string[])[]} bundles
 */
function stateOf(bundles) {
  const state = createHash('sha256').update(JSON.stringify([root, bundles]));
  const files = ['node_modules/.package-lock.json'];
  for (const folder of new Set(['lib', ...bundles.flat().map((file) => file.replace(/\/.*/, ''))])) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (isSource(name) || name.endsWith('.mjs')) files.push(join(folder, name));
    }
  }
  for (const file of files) {
    // A change of content cannot leave the time of the last change of status as it was, not even a copy that keeps the other times.
    const { size, ctimeMs } = statSync(join(root, file), { throwIfNoEntry: false }) ?? {};
    state.update(`${file} ${size} ${ctimeMs}\n`);
  }
  return state.digest('hex').slice(0, 32);
}
