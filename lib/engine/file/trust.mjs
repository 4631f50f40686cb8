// Whether another user could have written what this program is about to read. It is JavaScript, as
// it is needed before anything is compiled: an inventory names commands, a template says what
// containers mount, and roles are code.
//
// The rule is that of OpenSSH's StrictModes, for each name on the way and each link: it belongs to
// root or to us, and nobody else can write to it. A sticky folder, such as /tmp, may be on the
// way: there only the owner of a name can replace it.
//
// Checking names is enough, although the file is opened by its name later. Whoever wants to swap a
// name needs to write to its folder, or in a sticky folder needs to own the name; all of these are
// checked, from / on. Only a name that was not there may come up later in a sticky folder. So a
// file that is opened has to be the one that the check found at the name: `openTrusted`.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { shellWord } from '../text/shell-word.mjs';
import { inPrivateGroup, nameOfGroup, nameOfUser } from './accounts.mjs';

/** Folders that the operator trusts as they are, by absolute paths with colons between. */
const trustVariable = 'RPC_PLAYBOOKS_TRUST';

/**
 * What another user could change.
 *
 * @typedef {object} Fault
 * @property {string} path
 * @property {string} what continues the path: `belongs to bob (uid 1001, mode 0644)`
 * @property {'owner' | 'mode' | 'shared' | 'link'} kind `shared`: a sticky folder, which is meant
 * for all
 * @property {number} uid of its owner
 */

/** More links than this are a loop, as for Linux. */
const mostLinks = 40;

/**
 * What another user could change of a path: each folder from / on, each link, and what is at its
 * end. Of a path that leads to nothing, what is there of it.
 *
 * @param {string} path absolute, or relative to the working directory
 * @param {boolean} [alone] whether others may make no names at the end of the path either, as they
 * may in a sticky folder
 * @returns {Fault[]} empty where it can be trusted
 * @throws the file system's error where a part of the path cannot be looked at
 */
export function distrust(path, alone = false) {
  return follow(path, alone).faults;
}

/**
 * What another user could change of many paths, as `distrust` with `alone` says it of each. The
 * way to a folder is looked at once, and one program is asked for all access lists.
 *
 * @param {readonly string[]} paths absolute, folders before what is in them
 * @returns {Fault[]}
 */
export function distrustEach(paths) {
  const found = paths.map((path) => ({ path, stat: fs.lstatSync(path, { throwIfNoEntry: false }) }));
  askForAccessLists(found.flatMap(({ path, stat }) => (stat && isOfPrivateGroup(stat) ? [path] : [])));
  /** @type {Set<string>} */
  const closed = new Set();
  return found.flatMap(({ path, stat }) => {
    const isPlain = stat && !stat.isSymbolicLink() && closed.has(dirname(path));
    const look = new Look();
    if (isPlain) look.entry(path, stat, true);
    const faults = isPlain && look.faults(path).length === 0 ? [] : distrust(path, true);
    if (faults.length === 0) closed.add(path);
    return faults;
  });
}

/**
 * Opens a file for reading, if no other user could have written it.
 *
 * @param {string} path
 * @returns {{ file: number } | { faults: Fault[] }} the open file, to be closed by the caller
 * @throws the file system's error where it cannot be opened
 */
export function openTrusted(path) {
  const { faults, found } = follow(path, false);
  if (found && faults.length > 0) return { faults };
  // Without O_NONBLOCK the open of a pipe waits for a writer.
  const file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const opened = fs.fstatSync(file);
  // A pipe of the shell has a name that leads nowhere. The caller refuses what is no file.
  if (!process.geteuid || !opened.isFile() || (found?.ino === opened.ino && found.dev === opened.dev))
    return { file };
  fs.closeSync(file);
  return { faults: [{ path, what: 'was replaced while it was opened', kind: 'link', uid: opened.uid }] };
}

/**
 * @param {string} path
 * @param {boolean} alone
 * @returns {{ faults: Fault[], found: fs.Stats | undefined }} `found` is what the path leads to
 */
function follow(path, alone) {
  const seen = new Look();
  let left = namesOf(isAbsolute(path) ? path : `${process.cwd()}/${path}`);
  let real = '/';
  /** @type {fs.Stats | undefined} */
  let found = fs.lstatSync('/');
  if (!process.geteuid) return { faults: [], found };
  seen.entry('/', found, left.length === 0 && alone);
  for (let links = 0; left.length > 0; ) {
    const [name = '', ...rest] = left;
    left = rest;
    if (name === '..') {
      real = dirname(real);
      found = fs.lstatSync(real);
      continue;
    }
    const next = join(real, name);
    found = found.isDirectory() ? fs.lstatSync(next, { throwIfNoEntry: false }) : undefined;
    if (!found) break;
    if (!found.isSymbolicLink()) {
      real = next;
      seen.entry(real, found, left.length === 0 && alone);
      continue;
    }
    links += 1;
    if (links > mostLinks) throw Object.assign(new Error(`${path} is a loop of links`), { code: 'ELOOP' });
    seen.link(next, found);
    const target = fs.readlinkSync(next);
    if (isAbsolute(target)) real = '/';
    found = fs.lstatSync(real);
    left = [...namesOf(target), ...left];
  }
  return { faults: seen.faults(real), found };
}

/**
 * @param {string} path
 */
const namesOf = (path) => path.split('/').filter((name) => name !== '' && name !== '.');

/** What is met on the way of one path. */
class Look {
  /** @type {Fault[]} */
  #faults = [];
  /**
   * Paths that a private group may write to, where only an access list could let others in. @type
   * {Fault[]}
   */
  #shared = [];
  /** Whether a link was followed that others could replace. */
  #astray = false;

  /**
   * @param {string} path
   * @param {fs.Stats} stat
   * @param {boolean} alone
   */
  entry(path, stat, alone) {
    const { uid, gid, mode } = stat;
    const octal = `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`;
    if (!ours().includes(uid)) {
      this.#faults.push({ path, what: `belongs to ${userWords(uid, octal)}`, kind: 'owner', uid });
      return;
    }
    // Writing to a device or a pipe changes no file.
    if (!stat.isFile() && !stat.isDirectory()) return;
    const isSticky = stat.isDirectory() && (mode & 0o1000) !== 0;
    if (isSticky && !alone) return;
    const kind = isSticky ? 'shared' : 'mode';
    if (mode & 0o002) this.#faults.push({ path, what: `can be changed by every user (${octal})`, kind, uid });
    else if (mode & 0o020) {
      const isPrivate = isOfPrivateGroup(stat);
      const who = isPrivate ? 'the users of its access list' : `the group ${nameOfGroup(gid) ?? gid}`;
      (isPrivate ? this.#shared : this.#faults).push({
        path,
        what: `can be changed by ${who} (${octal})`,
        kind,
        uid,
      });
    }
  }

  /**
   * @param {string} path
   * @param {fs.Stats} stat
   */
  link(path, { uid }) {
    if (this.#faults.length > 0) this.#astray = true;
    if (!ours().includes(uid))
      this.#faults.push({ path, what: `is a link of ${userWords(uid)}`, kind: 'link', uid });
  }

  /**
   * @param {string} real where the path leads
   * @returns {Fault[]} without those in the folders that the operator trusts
   */
  faults(real) {
    const all = [...this.#faults, ...withAccessList(this.#shared)];
    if (all.length === 0) return all;
    // Whoever trusts a folder trusts its path, too. This does not hold behind a link
    // that others can change: it may lead elsewhere next time.
    const leadsTo = (/** @type {string} */ folder) => !this.#astray && isIn(real, folder);
    const settles = (/** @type {string} */ folder, /** @type {Fault} */ { path, kind }) =>
      isIn(path, folder) || (kind !== 'link' && isIn(folder, path) && leadsTo(folder));
    const folders = trusted();
    return all.filter((fault) => !folders.some((folder) => settles(folder, fault)));
  }
}

/**
 * Whether a path is a folder, or in it.
 *
 * @param {string} path
 * @param {string} folder
 */
function isIn(path, folder) {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/**
 * The users whose files we trust: root, ourselves, and whoever became root by sudo. That user may
 * do anything as root already, and runs in a folder of that user's own.
 *
 * @returns {number[]} their numbers
 */
function ours() {
  const me = process.geteuid?.() ?? 0;
  const { SUDO_UID: by = '' } = process.env;
  return [0, me, ...(me === 0 && /^\d+$/.test(by) ? [Number(by)] : [])];
}

/**
 * `bob (uid 1001, mode 0644)`.
 *
 * @param {number} uid
 * @param {string[]} more
 */
function userWords(uid, ...more) {
  const name = nameOfUser(uid);
  const facts = [`uid ${uid}`, ...more];
  return name === undefined
    ? `${facts[0]}${more.length > 0 ? ` (${more.join(', ')})` : ''}`
    : `${name} (${facts.join(', ')})`;
}

/**
 * Whether a group may write that is the private one of a user of ours.
 *
 * @param {fs.Stats} stat
 */
function isOfPrivateGroup({ gid, mode }) {
  return (mode & 0o022) === 0o020 && inPrivateGroup(gid, ours());
}

/** Whether paths have an access list, by path and state. @type {Map<string, boolean>} */
const listed = new Map();

/**
 * Those of the paths that have an access list: it names users beside the owner and the group, and
 * the mode does not show them.
 *
 * @param {readonly Fault[]} shared
 * @returns {Fault[]}
 */
function withAccessList(shared) {
  askForAccessLists(shared.map(({ path }) => path));
  return shared.filter(({ path }) => listed.get(stateOf(path).key));
}

/**
 * @param {string} path
 */
function stateOf(path) {
  const { ino, ctimeMs } = fs.lstatSync(path, { throwIfNoEntry: false }) ?? { ino: 0, ctimeMs: 0 };
  return { ino, key: `${path} ${ino} ${ctimeMs}` };
}

/**
 * Node cannot read access lists; ls marks them with a plus.
 *
 * @param {readonly string[]} paths
 */
function askForAccessLists(paths) {
  const unknown = paths.map((path) => ({ path, ...stateOf(path) })).filter(({ key }) => !listed.has(key));
  if (unknown.length === 0) return;
  const marked = inodesWithList(unknown.map(({ path }) => path));
  for (const { key, ino } of unknown) listed.set(key, marked.get(ino) ?? true);
}

/** As many paths as fit into one command line, whatever their length. */
const pathsAtOnce = 25;

/**
 * Whether each inode has an access list. Of two inodes with one number, on two file systems,
 * either may have it.
 *
 * @param {string[]} paths
 * @returns {Map<number, boolean>} without those that could not be looked at
 */
function inodesWithList(paths) {
  const environment = { ...process.env, LC_ALL: 'C' };
  /** @type {Map<number, boolean>} */
  const marked = new Map();
  for (let at = 0; at < paths.length; at += pathsAtOnce) {
    const some = paths.slice(at, at + pathsAtOnce);
    // The way of `-q` to show a line break keeps each path on one line.
    const { stdout, error } = spawnSync('ls', ['-ildnq', '--', ...some], {
      encoding: 'utf8',
      env: environment,
    });
    // Where there is no ls there are no access lists: an image without a system.
    if (error && /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT')
      for (const path of some) marked.set(fs.lstatSync(path).ino, false);
    for (const [, ino, mark] of (stdout ?? '').matchAll(/^ *(\d+) +[a-zA-Z-]{10}(\S?)/gm))
      marked.set(Number(ino), mark === '+' || marked.get(Number(ino)) === true);
  }
  return marked;
}

/**
 * The folders that the operator trusts, without links.
 *
 * @returns {string[]}
 */
function trusted() {
  return named().flatMap((path) => (whyNotTrusted(path) === undefined ? [real(path)] : []));
}

/**
 * @returns {string[]}
 */
function named() {
  return (process.env[trustVariable] ?? '').split(':').filter((path) => path !== '');
}

/**
 * @param {string} path
 */
function real(path) {
  try {
    return fs.realpathSync(path);
  } catch {
    return join(path);
  }
}

/**
 * Why a folder cannot be named as trusted.
 *
 * @param {string} path
 * @returns {string | undefined} continues the path
 */
function whyNotTrusted(path) {
  if (!isAbsolute(path)) return 'is not an absolute path';
  const folder = real(path);
  if (folder === '/') return 'is all of the file system';
  const { mode = 0 } = fs.statSync(folder, { throwIfNoEntry: false }) ?? {};
  return mode & 0o1000 && mode & 0o022 ? 'is a folder in which others make files' : undefined;
}

/** Lines of one message. */
const mostShown = 10;

/**
 * Faults in words for the operator.
 *
 * @param {readonly Fault[]} faults at least one
 * @param {string} folder of what is used. The operator may choose to trust it, or the checkout
 * around it
 * @returns {{ lines: string[], hint: string }} one sentence for each fault, and what to do
 */
export function refusal(faults, folder) {
  const unlike = [...new Map(faults.map((fault) => [fault.path, fault])).values()];
  const lines = unlike.slice(0, mostShown).map(({ path, what }) => `${visible(path)} ${what}${reason}`);
  const more = unlike.length - lines.length;
  return {
    lines: [...lines, ...(more > 0 ? [`… and ${more} more`] : [])],
    hint: hintFor(unlike, real(folder)),
  };
}

/**
 * Faults in words for the operator, as one text.
 *
 * @param {readonly Fault[]} faults at least one
 * @param {string} folder as for `refusal`
 */
export function refusalText(faults, folder) {
  const { lines, hint } = refusal(faults, folder);
  return `${lines.join('\n')}\n  ${hint}`;
}

/**
 * The first of the faults of a path.
 *
 * @param {string} path
 * @param {readonly Fault[]} faults at least one
 * @returns {string} continues the path
 */
export function whyNotUsed(path, faults) {
  const [{ path: place, what } = { path, what: '' }] = faults;
  return place === resolve(path)
    ? `${what}${reason}`
    : `leads through ${visible(place)}, which ${what}${reason}`;
}

const reason = ': what others can write is not used';

/**
 * A path without characters that control a terminal.
 *
 * @param {string} path
 */
const visible = (path) => path.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?');

/**
 * @param {readonly Fault[]} faults
 * @param {string} place without links
 */
function hintFor(faults, place) {
  const folder = above(place, marks) ?? above(place, ['inventory']) ?? place;
  const why = whyNotTrusted(folder);
  const ways = repair(faults, above(place, marks)) ?? ['use a copy in a folder that only you can change'];
  const others = named();
  if (why === undefined) {
    const value = [...(others.length > 0 ? [`"$${trustVariable}":`] : []), shellWord(folder)].join('');
    ways.push(`or trust the folder and all in it: export ${trustVariable}=${value}`);
  }
  const left = others.flatMap((path) => {
    const fault = whyNotTrusted(path);
    return fault === undefined ? [] : [`${trustVariable}: ${path} ${fault}, and is left out`];
  });
  return [ways.join('; '), ...left].join('\n  ');
}

/**
 * What the top folder of a checkout has: its names decide where inventories, roles and templates
 * are found.
 */
const marks = ['rpc-playbooks.yaml', '.git'];

/**
 * The nearest folder from a folder upwards that has one of these names.
 *
 * @param {string} folder
 * @param {readonly string[]} names
 * @returns {string | undefined} a folder that may be trusted
 */
function above(folder, names) {
  const has = names.some((name) => fs.existsSync(join(folder, name)));
  if (has && whyNotTrusted(folder) === undefined) return folder;
  return folder === dirname(folder) ? undefined : above(dirname(folder), names);
}

/**
 * The commands that end faults; undefined where only somebody else can, or where they would take
 * files from their owner: all but those in a checkout of ours.
 *
 * @param {readonly Fault[]} faults
 * @param {string | undefined} checkout
 */
function repair(faults, checkout) {
  const me = process.geteuid?.() ?? 0;
  const own = checkout !== undefined && ours().includes(fs.statSync(checkout).uid) ? checkout : undefined;
  const isOpen = (/** @type {Fault} */ { kind, uid }) => kind === 'mode' && (me === 0 || uid === me);
  const isForeign = (/** @type {Fault} */ { kind, path }) =>
    (kind === 'owner' || kind === 'link') && me === 0 && own !== undefined && isIn(path, own);
  if (!faults.every((fault) => isOpen(fault) || isForeign(fault))) return undefined;
  const [open, foreign] = [faults.filter(isOpen), faults.filter(isForeign)];
  return [
    ...(foreign.length > 0 ? [`look at what is there, then chown ${words('-h root', foreign, own)}`] : []),
    ...(open.length > 0 ? [`chmod ${words('go-w', open, own)}`] : []),
  ];
}

/**
 * The arguments of chmod or chown: each path, or the checkout of ours where several are in it.
 *
 * @param {string} change
 * @param {readonly Fault[]} faults
 * @param {string | undefined} checkout
 */
function words(change, faults, checkout) {
  if (checkout !== undefined && faults.every(({ path }) => isIn(path, checkout))) {
    const isAll = faults.some(({ path }) => path === checkout) || faults.length > 1;
    if (isAll) return `-R ${change} ${shellWord(checkout)}`;
  }
  return `${change} ${faults.map(({ path }) => shellWord(path)).join(' ')}`;
}
