// What a team's own playbook imports. Node loads it, and a playbook may import from anywhere: a
// package and its parts, a folder beside playbooks/, a name that is known only while it runs. So
// each file is checked when Node is about to read it.
import Module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearest } from '../engine/file/nearest.mjs';
import { distrust, refusalText } from '../engine/file/trust.mjs';
import { markedFolder } from '../node/project/marked-folder.mjs';

/** The `code` of the error for a file that another user could have written. */
export const notTrusted = 'RPC_PLAYBOOKS_NOT_TRUSTED';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Refuses from now on to load a file that another user could have written, by `import` or by
 * `require`. The files of this program are not checked.
 */
export function checkImports() {
  // `import` does not reach native parts of packages, and before Node 22.15 no nested `require`
  // either.
  const modules = /** @type {{ load(this: unknown, file: string): void }} */ (
    /** @type {unknown} */ (Module.prototype)
  );
  const { load: read } = modules;
  modules.load = function (file) {
    refuseOthers(file);
    read.call(this, file);
  };
  const { registerHooks } = /** @type {{ registerHooks?: (hooks: object) => void }} */ (Module);
  if (registerHooks) registerHooks({ resolve, load });
  else Module.register(import.meta.url);
}

/**
 * A hook of Node. The way to a file by its name may lead through links, which Node then leaves
 * out.
 *
 * @public
 * @param {string} specifier
 * @param {{ parentURL?: string | undefined }} context
 * @param {Function} next
 */
export function resolve(specifier, context, next) {
  const { parentURL = 'file:///' } = context;
  if (/^(\.{0,2}\/|file:)/.test(specifier) && parentURL.startsWith('file:'))
    refuseOthers(fileURLToPath(new URL(specifier, parentURL)));
  else if (/^[\w@]/.test(specifier) && parentURL.startsWith('file:')) {
    const [, name = specifier] = /^(@[^/]*\/[^/]+|[^/]+)/.exec(specifier) ?? [];
    const found = nearest(dirname(fileURLToPath(parentURL)), join('node_modules', name));
    if (found !== undefined) refuseOthers(found);
  }
  return next(specifier, context);
}

/**
 * A hook of Node.
 *
 * @public
 * @param {string} url of the file, without links
 * @param {object} context
 * @param {Function} next
 */
export function load(url, context, next) {
  if (url.startsWith('file:')) refuseOthers(fileURLToPath(url));
  return next(url, context);
}

/**
 * @param {string} file absolute path
 * @throws {Error} with the code `notTrusted`
 */
function refuseOthers(file) {
  if (file.startsWith(root)) return;
  // The nearest package.json says how Node reads the file.
  const faults = [file, nearest(dirname(file), 'package.json') ?? []]
    .flat()
    .flatMap((path) => distrust(path, true));
  if (faults.length === 0) return;
  const words = refusalText(faults, markedFolder(dirname(file)) ?? dirname(file));
  throw Object.assign(new Error(words), { code: notTrusted });
}
