import { randomUUID } from 'node:crypto';
import { accessSync, constants, lstatSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../problem/problem.ts';

/**
 * Makes sure that a private file can be put at a path: nothing is there, or a file. A device or a pipe would be replaced by it.
 *
 * @returns where it is to be written: behind a link, if one is there
 * @throws Problem with what is wrong
 */
export function privateTarget(path: string): string {
  if (path === '') throw new Problem('the name of the file to write is empty', { hint: 'name a file: --out FILE' });
  try {
    const there = lstatSync(path, { throwIfNoEntry: false });
    const target = there?.isSymbolicLink() ? realpathSync(path) : path;
    if (there && !statSync(target).isFile()) throw new Problem(`${path} is there and is no file`);
    accessSync(dirname(target), constants.W_OK | constants.X_OK);
    return target;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw cannotWrite(path, error);
  }
}

/**
 * Writes a file of mode 0600, by a new file and a rename: an older one that others may read never holds what is private.
 *
 * @throws Problem where it cannot be written; what was there is left
 */
export function writePrivateFile(path: string, content: string | Uint8Array): void {
  const target = privateTarget(path);
  try {
    putInPlace(target, content);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** All of it or nothing, mode 0600: by a temporary name and a rename. @throws what the file system throws; nothing is left then */
function putInPlace(target: string, content: string | Uint8Array): void {
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
