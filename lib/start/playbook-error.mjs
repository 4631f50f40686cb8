// What a team's own playbook says where it cannot be loaded: the place, and no stack unless asked for.
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { placesOf } from './end.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {string} script absolute path of the playbook
 * @param {Error} error from its import
 * @returns {Promise<string>} `FILE:LINE:COLUMN: why`, a line for each fault
 */
export async function playbookError(script, error) {
  const [, url, position] = /(file:\S+?)(:\d+(?::\d+)?)\)?$/.exec(ownLine(script, error)) ?? [];
  if (url !== undefined)
    return `${fileURLToPath(url)}${position}: ${error.message}\n  --verbose shows all of it`;
  // Node gives no place of a fault in the syntax.
  const places = error instanceof SyntaxError ? await syntaxFaults(script) : '';
  return places || `${script}: ${error.message}\n  --verbose shows all of it`;
}

/**
 * @param {string} script
 * @param {Error} error
 * @returns {string} the first line of the stack that is in a file of the team, not of a package
 */
function ownLine(script, { stack = '' }) {
  const folder = pathToFileURL(dirname(dirname(script))).href;
  const isOwn = (/** @type {string} */ line) =>
    line.includes(`${folder}/`) && !line.includes('/node_modules/');
  return stack.split('\n').find(isOwn) ?? '';
}

/**
 * @param {string} script
 * @returns {Promise<string>} of the playbook, and of the files beside it that it imports; empty without one
 */
async function syntaxFaults(script) {
  const { build } = await import('esbuild');
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [script],
      bundle: true,
      packages: 'external',
      format: 'esm',
      write: false,
      logLevel: 'silent',
    });
    return '';
  } catch (error) {
    const { errors = [] } = /** @type {Partial<import('esbuild').BuildFailure>} */ (error);
    return placesOf(errors, root);
  }
}
