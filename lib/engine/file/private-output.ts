import { randomUUID } from 'node:crypto';
import { accessSync, constants, lstatSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../problem/problem.ts';

/**
 * Checks that a private file can be written to a path: the path is free, or a file. A device or a pipe is never replaced.
 *
 * @returns the path to write to: the target of a link, or the path itself
 * @throws Problem where the path cannot be written to
 */
export function privateTarget(path: string): string {
  if (path === '') throw new Problem('the name of the file to write is empty', { hint: 'name a file: --out FILE' });
  try {
    const there = lstatSync(path, { throwIfNoEntry: false });
    const target = there?.isSymbolicLink() ? realpathSync(path) : path;
    if (there && !statSync(target).isFile()) throw new Problem(`${path} exists and is not a file`);
    accessSync(dirname(target), constants.W_OK | constants.X_OK);
    return target;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw cannotWrite(path, error);
  }
}

/**
 * Writes a file of mode 0600 as a new file and a rename: an older file that others can read never holds private text.
 *
 * @throws Problem where the file cannot be written; an older file stays
 */
export function writePrivateFile(path: string, text: string): void {
  const target = privateTarget(path);
  try {
    putInPlace(target, text);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Writes all of a file or nothing, with mode 0600. @throws the file system's error; the temporary file is removed then */
export function putInPlace(target: string, content: string | Uint8Array): void {
  const fresh = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    writeFileSync(fresh, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

function cannotWrite(path: string, error: unknown): Problem {
  const { code } = error as NodeJS.ErrnoException;
  const why =
    code === 'ENOENT'
      ? 'its folder does not exist'
      : code === 'ENOSPC'
        ? 'the disk is full'
        : (code ?? 'unknown error');
  return new Problem(`cannot write ${path} (${why})`);
}
