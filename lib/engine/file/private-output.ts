import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Problem } from '../problem/problem.ts';
import { errorCode } from '../text/error-code.ts';
import { distrust, refusal } from './trust.mjs';

/** What a command writes at a path that the operator names, and how each such file begins. */
export interface Output {
  /** With `a`. */
  readonly what: string;
  readonly begins: string;
}

/**
 * Checks that a private file can be written to a path: nothing is there, or a file, or a link to
 * one. A device or a pipe is never replaced. Neither a link of another user nor a folder that
 * others can change is followed: they could lead to any file.
 *
 * @param output only an empty file or another of its kind is replaced; default: any file
 * @returns the path to write to: the target of a link, or the path itself
 * @throws Problem where the path cannot be written to
 */
export function privateTarget(path: string, output?: Output): string {
  if (path === '')
    throw new Problem('the name of the file to write is empty', { hint: 'name a file after the option' });
  try {
    const existing = fs.lstatSync(path, { throwIfNoEntry: false });
    refuseOthers(path, existing?.isSymbolicLink() ? path : dirname(path));
    if (existing?.isSymbolicLink() && !fs.existsSync(path))
      throw new Problem(`${path} is a link, and its target does not exist`);
    const target = existing?.isSymbolicLink() ? fs.realpathSync(path) : path;
    if (existing && !fs.statSync(target).isFile()) throw new Problem(`${path} exists and is not a file`);
    fs.accessSync(dirname(target), fs.constants.W_OK | fs.constants.X_OK);
    if (existing && output) refuseOtherContent(target, path, output);
    return target;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw cannotWrite(path, error);
  }
}

/** A wrong word after an option must not cost an inventory or a key. */
function refuseOtherContent(target: string, path: string, { what, begins }: Output): void {
  const first = Buffer.alloc(Buffer.byteLength(begins));
  const file = fs.openSync(target, 'r');
  try {
    const read = fs.readSync(file, first);
    if (read === 0 || first.subarray(0, read).toString() === begins) return;
  } finally {
    fs.closeSync(file);
  }
  throw new Problem(`${path} is there and is not ${what}: it is not replaced`, {
    hint: 'choose another name, or remove the file',
  });
}

/**
 * Refuses a folder to write to that another user could change, so that this is known before any
 * work.
 *
 * @param top the folder that the operator named, and may choose to trust. Default: the folder
 * itself
 * @throws Problem
 */
export function refuseOthersFolder(folder: string, top = folder): void {
  try {
    refuseOthers(folder, folder, top);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw cannotWrite(folder, error);
  }
}

/**
 * @param way to what is written
 * @param folder that the operator may choose to trust
 * @throws Problem where another user could change it
 */
function refuseOthers(path: string, way: string, folder = dirname(path)): void {
  const faults = distrust(way);
  if (faults.length === 0) return;
  const { lines, hint } = refusal(faults, resolve(folder));
  throw new Problem(`cannot write ${path}: ${lines.join('\n')}`, { hint });
}

/**
 * Writes a new file of mode 0600 and renames it over the old one: private text is never in a file
 * that others can read.
 *
 * @param output as for `privateTarget`
 * @throws Problem where the file cannot be written; an older file stays
 */
export function writePrivateFile(path: string, content: string | Uint8Array, output?: Output): void {
  const target = privateTarget(path, output);
  try {
    putInPlace(target, content);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/**
 * Writes all of a file or nothing, with mode 0600.
 *
 * @throws the file system's error, after the temporary file is removed
 */
function putInPlace(target: string, content: string | Uint8Array): void {
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    fs.writeFileSync(temporary, content, { mode: 0o600, flag: 'wx', flush: true });
    fs.renameSync(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'no permission to write in its folder',
  EEXIST: 'a part of its path is a file',
  ENOENT: 'its folder does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file',
};

/** Why the file system refused a file or a folder, in words where there are some. */
export function whyUnwritten(error: unknown): string {
  const code = errorCode(error) ?? 'unknown error';
  return reasons[code] ?? code;
}

/** The error for a path that the file system refused. */
export const cannotWrite = (path: string, error: unknown) =>
  new Problem(`cannot write ${path} (${whyUnwritten(error)})`);
