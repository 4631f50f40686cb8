// Folders of what was compiled, one for each state of the sources.
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long what was not used any more is kept. Milliseconds. */
const keptFor = 7 * 24 * 3600 * 1000;

/** Its use is noted once a day. Milliseconds. */
const notedEvery = 24 * 3600 * 1000;

/** The sizes of all files, by name. Written last. */
const contents = 'contents.json';

/** Like the sources, it may be read by whoever else runs the project from here, and changed by nobody else. */
const readable = 0o755;

/**
 * @param {string} cache where the folders are
 * @param {string} state what it was compiled of
 * @returns {string | undefined} its folder, where it is whole, and nobody else could have put something else there
 */
export function kept(cache, state) {
  const folder = join(cache, state);
  try {
    if (!isTrusted(cache) || !isTrusted(folder) || !isWhole(folder)) return undefined;
    noteUse(folder);
    return folder;
  } catch {
    return undefined;
  }
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {string} cache
 * @param {string} state
 * @returns {string} their folder: elsewhere, for this process alone, where the cache cannot be written to or trusted
 */
export function keep(files, cache, state) {
  const folder = join(cache, state);
  let made;
  try {
    mkdirSync(cache, { recursive: true, mode: readable });
    if (!isTrusted(cache)) return aside(files);
    dropOld(cache);
    made = mkdtempSync(join(cache, '.new-'));
    write(files, made);
    // It gets its name when all of it is on the disk, and two that compile at once do not meet.
    if (kept(cache, state) === undefined) rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
    return folder;
  } catch {
    if (made) rmSync(made, { recursive: true, force: true });
    return kept(cache, state) ?? aside(files);
  }
}

/** @param {readonly import('esbuild').OutputFile[]} files */
function aside(files) {
  const folder = mkdtempSync(join(tmpdir(), 'rpc-playbooks-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  write(files, folder);
  return folder;
}

/**
 * What is imported from a folder runs with all rights of whoever runs it. Whose the sources are could change those as well.
 *
 * @param {string} folder
 */
function isTrusted(folder) {
  const { uid, mode } = statSync(folder);
  const { uid: author } = statSync(fileURLToPath(import.meta.url));
  return [0, author, process.getuid?.()].includes(uid) && (mode & 0o022) === 0;
}

/** @param {string} folder */
function isWhole(folder) {
  /** @type {Record<string, number>} */
  const sizes = JSON.parse(readFileSync(join(folder, contents), 'utf8'));
  return Object.entries(sizes).every(([name, size]) => {
    const file = join(folder, name);
    accessSync(file, constants.R_OK);
    return statSync(file).size === size;
  });
}

/** @param {string} folder */
function noteUse(folder) {
  const now = Date.now();
  try {
    if (statSync(folder).mtimeMs < now - notedEvery) utimesSync(folder, now / 1000, now / 1000);
  } catch {
    // Another user's.
  }
}

/**
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {string} folder
 */
function write(files, folder) {
  /** @type {Record<string, number>} */
  const sizes = {};
  /** @type {(name: string, content: string | Uint8Array) => void} */
  const put = (name, content) => {
    const file = openSync(join(folder, name), 'wx', readable & 0o666);
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  };
  for (const { path, contents: content } of files) {
    const name = path.slice(1);
    put(name, content);
    sizes[name] = content.length;
  }
  put(contents, JSON.stringify(sizes));
  chmodSync(folder, readable & ~process.umask());
}

/** @param {string} cache */
function dropOld(cache) {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs === undefined || mtimeMs >= Date.now() - keptFor) continue;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another user's: theirs to drop.
    }
  }
}
