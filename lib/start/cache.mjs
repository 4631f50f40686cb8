// Compiled modules on disk: one folder for each state of the sources. Resolving and compiling some
// hundred modules at every start takes five times as long as everything else before the first
// connection.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import * as vm from 'node:vm';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/rpc-playbooks');

const day = 24 * 3600 * 1000;
/** A folder that was not used for this time is removed. Milliseconds. */
const keptFor = 7 * day;

/** Where compiled roles of a team find the program's kinds: a name of `globalThis`. */
export const ownRolesImport = 'rpc-playbooks/roles';

/** The sizes of all files of a folder, by name. It is written last. */
const contents = 'contents.json';

/**
 * Other users who run the project from here may read the compiled code. Only its author may change
 * it.
 */
const folderMode = 0o755;

/**
 * Modules that share what they import, as if each were imported from its own file.
 *
 * @param {readonly string[]} modules TypeScript files from the program's root, or absolute
 * @param {object} [kinds] what a team's own roles import from `rpc-playbooks/roles`: the program has
 * it already, so a change of such a role compiles the role alone
 * @returns {Promise<(file: string) => Promise<any>>} imports one of them
 */
export async function compiled(modules, kinds) {
  if (kinds) Object.assign(globalThis, { [ownRolesImport]: kinds });
  const folder = await folderOf(modules, kinds && Object.keys(kinds));
  const program = load(join(folder, 'program.cjs'));
  return async (file) => program.modules[file]?.();
}

/**
 * Loads the compiled program. V8 keeps its code beside it, as parsing and compiling it takes
 * longer than all that it does before the first connection. Node does that by itself since version
 * 22, and only for files that it loads one by one.
 *
 * @param {string} path
 * @returns {{ modules: Record<string, () => Promise<any>> }}
 */
function load(path) {
  const require = createRequire(path);
  // Only Node's own loader reads source maps, which takes long: where a stack is going to be
  // shown.
  if (process.argv.includes('--verbose')) {
    process.setSourceMapsEnabled(true);
    return require(path);
  }
  const code = `${path}.${process.version}.v8`;
  /** @type {Buffer | undefined} */
  let cachedData;
  try {
    // V8 would run damaged code, so the file begins with the hash of the rest.
    const file = fs.readFileSync(code);
    if (sha256(file.subarray(32)).equals(file.subarray(0, 32))) cachedData = file.subarray(32);
  } catch {
    // It does not exist yet, or only another user may read it.
  }
  // After some minutes V8 would throw compiled code away, and the longest runs would keep the least.
  setFlagsFromString('--no-flush-bytecode');
  const text = `(function (exports, require, module) {${fs.readFileSync(path, 'utf8')}\n})`;
  const script = new vm.Script(text, { filename: path, ...(cachedData && { cachedData }) });
  const module = { exports: /** @type {any} */ ({}) };
  script.runInThisContext()(module.exports, require, module);
  process.once('exit', () => {
    if (cachedData && !script.cachedDataRejected) return;
    try {
      const data = script.createCachedData();
      writeToDisk(`${code}.${process.pid}`, Buffer.concat([sha256(data), data]));
      fs.renameSync(`${code}.${process.pid}`, code);
    } catch {
      // The folder of another user, or one that was removed: the next run compiles, too.
    }
  });
  return module.exports;
}

/**
 * @param {Uint8Array} data
 */
const sha256 = (data) => createHash('sha256').update(data).digest();

/**
 * @param {readonly string[]} modules
 * @param {readonly string[]} [kinds] names
 */
async function folderOf(modules, kinds) {
  for (;;) {
    const folder = join(cache, stateOf(modules));
    if (isUsable(folder)) return folder;
    const { compile } = await import('./compile.mjs');
    const files = await compile(modules, kinds);
    // A source that changed during the compilation could have left a mixture.
    if (folder === join(cache, stateOf(modules))) return keep(files, folder);
  }
}

/**
 * Whether a file is a module of the program: not a test, and not a file that an editor or macOS
 * left beside it.
 *
 * @param {string} path
 */
export function isSource(path) {
  return /^[^.].*(?<!\.test)\.ts$/.test(basename(path));
}

/**
 * Everything that the compiled code depends on, as one name: where the project is, its modules,
 * and the packages.
 *
 * @param {readonly string[]} modules
 */
function stateOf(modules) {
  const state = createHash('sha256').update(JSON.stringify([root, modules]));
  const files = ['node_modules/.package-lock.json'];
  // A team's own roles have absolute paths.
  const folders = modules.map((file) => (isAbsolute(file) ? dirname(file) : file.replace(/\/.*/, '')));
  for (const folder of new Set(['lib', ...folders])) {
    if (isAbsolute(folder)) files.push(join(folder, '../node_modules/.package-lock.json'));
    files.push(...filesUnder(folder).sort());
  }
  for (const file of files) {
    // The time of the last status change shows every change of content, also by a copy that keeps
    // the other times.
    const { size, ctimeMs } = fs.statSync(resolve(root, file), { throwIfNoEntry: false }) ?? {};
    state.update(`${file} ${size} ${ctimeMs}\n`);
  }
  return state.digest('hex').slice(0, 32);
}

/**
 * The modules under a folder. Node's own recursive listing takes four times as long.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(folder) {
  return fs.readdirSync(resolve(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    const modules = isSource(entry.name) || entry.name.endsWith('.mjs') ? [path] : [];
    try {
      return entry.isFile() ? modules : filesUnder(path);
    } catch {
      // A link to a file, or to nothing.
      return modules;
    }
  });
}

/**
 * Whether a folder is complete and nobody else could have written code into it.
 *
 * @param {string} folder
 */
function isUsable(folder) {
  try {
    if (!isTrusted(cache) || !isTrusted(folder)) return false;
    /** @type {Record<string, number>} */
    const sizes = JSON.parse(fs.readFileSync(join(folder, contents), 'utf8'));
    for (const [name, size] of Object.entries(sizes)) {
      fs.accessSync(join(folder, name), fs.constants.R_OK);
      if (fs.statSync(join(folder, name)).size !== size) return false;
    }
  } catch {
    return false;
  }
  try {
    const now = Date.now();
    if (fs.statSync(folder).mtimeMs < now - day) fs.utimesSync(folder, now / 1000, now / 1000);
  } catch {
    // The folder of another user keeps its own time.
  }
  return true;
}

/**
 * Code from a folder runs with all rights of its caller. The owner of the sources could change
 * those as well.
 *
 * @param {string} folder
 */
function isTrusted(folder) {
  const { uid, mode } = fs.statSync(folder);
  const { uid: author } = fs.statSync(fileURLToPath(import.meta.url));
  return [0, author, process.getuid?.()].includes(uid) && (mode & 0o022) === 0;
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {string} folder
 * @returns {string} where they are
 */
function keep(files, folder) {
  let made;
  try {
    fs.mkdirSync(cache, { recursive: true, mode: folderMode });
    if (!isTrusted(cache)) return keepAside(files);
    dropOld();
    made = fs.mkdtempSync(join(cache, '.new-'));
    write(files, made);
    // The folder gets its name when all of it is on the disk, so two simultaneous compilations do
    // not collide.
    if (!isUsable(folder)) fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(made, folder);
    return folder;
  } catch {
    if (made) fs.rmSync(made, { recursive: true, force: true });
    return isUsable(folder) ? folder : keepAside(files);
  }
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 */
function keepAside(files) {
  const folder = fs.mkdtempSync(join(tmpdir(), 'rpc-playbooks-'));
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  write(files, folder);
  return folder;
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {string} folder
 */
function write(files, folder) {
  const named = files.map(({ path, contents: content }) => ({ name: path.slice(1), content }));
  const sizes = Object.fromEntries(named.map(({ name, content }) => [name, content.length]));
  for (const { name, content } of [...named, { name: contents, content: JSON.stringify(sizes) }]) {
    writeToDisk(join(folder, name), content);
  }
  fs.chmodSync(folder, folderMode & ~process.umask());
}

/**
 * @param {string} path of a new file
 * @param {string | Uint8Array} content
 */
function writeToDisk(path, content) {
  const file = fs.openSync(path, 'wx', folderMode & 0o666);
  fs.writeFileSync(file, content);
  fs.fsyncSync(file);
  fs.closeSync(file);
}

function dropOld() {
  for (const name of fs.readdirSync(cache)) {
    const folder = join(cache, name);
    const { mtimeMs } = fs.statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs === undefined || mtimeMs >= Date.now() - keptFor) continue;
    try {
      fs.rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another user's folder: that user removes it.
    }
  }
}
