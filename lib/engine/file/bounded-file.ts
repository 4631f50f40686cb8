import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../text/error-code.ts';
import { distrust, type Fault, openTrusted, refusal, whyNotUsed } from './trust.mjs';

/** Why a file is not read. The message continues the file's path: `is a folder`. */
export class UnfitFile extends Error {
  /** What to do about it. */
  readonly hint: string | undefined;

  constructor(what: string, hint?: string) {
    super(what);
    this.hint = hint;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ELOOP: 'is a symbolic link that leads to itself',
};

/**
 * Why a file could not be read, from an error of readBounded or the file system; it continues the
 * file's path: `does not exist`.
 */
export function whyUnread(error: unknown): string {
  if (error instanceof UnfitFile) return error.message;
  const code = errorCode(error) ?? 'unknown error';
  return reasons[code] ?? `cannot be read (${code})`;
}

/** What to do about an error of readBounded, where it says so. */
export function hintOfUnread(error: unknown): string | undefined {
  return error instanceof UnfitFile ? error.hint : undefined;
}

/**
 * Reads a file with an untrusted name. It may be an endless device, a pipe without a writer, or a
 * huge file. It may belong to another user, or lie where another user can replace it: then nothing
 * of it is read.
 *
 * @param most the size limit in bytes
 * @throws UnfitFile for a file that is too large, is not a file, or could have been written by
 * another user
 * @throws the file system's error where the file cannot be read
 */
export function readBounded(path: string, most: number): Buffer {
  return readOpened(openOwn(path), most);
}

/**
 * Reads a file that ssh reads, too, and whose owner is not ours to judge. A pipe and a device are no
 * file.
 *
 * @param most the size limit in bytes
 * @throws UnfitFile for what is too large, or is not a file
 * @throws the file system's error where it cannot be read
 */
export function readPlain(path: string, most: number): Buffer {
  // A pipe without a writer would keep the process waiting.
  return readOpened(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), most);
}

/** Reads and closes. */
function readOpened(file: number, most: number): Buffer {
  try {
    const found = fstatSync(file);
    if (found.isDirectory()) throw new UnfitFile('is a folder');
    if (!found.isFile()) throw new UnfitFile('is not a file');
    if (found.size > most)
      throw new UnfitFile(`is ${found.size} bytes long, and no more than ${most} are read`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Opens a file for reading that no other user could have written.
 *
 * @returns its descriptor, to be closed by the caller
 * @throws UnfitFile where another user could have written it
 * @throws the file system's error where it cannot be opened
 */
export function openOwn(path: string): number {
  const opened = openTrusted(path);
  if ('faults' in opened) throw unfit(path, opened.faults, dirname(resolve(path)));
  return opened.file;
}

/**
 * Why a path is not used: another user could change what it leads to.
 *
 * @param options `alone` as for `distrust`; `folder`: that the operator may choose to trust.
 * Default: that of the path
 * @returns undefined for a path that can be trusted
 * @throws the file system's error where a part of the path cannot be looked at
 */
export function unfitness(
  path: string,
  { alone = false, folder = dirname(resolve(path)) } = {},
): UnfitFile | undefined {
  const faults = distrust(path, alone);
  return faults.length > 0 ? unfit(path, faults, folder) : undefined;
}

/**
 * @param faults at least one
 */
function unfit(path: string, faults: readonly Fault[], folder: string): UnfitFile {
  return new UnfitFile(whyNotUsed(path, faults), refusal(faults, folder).hint);
}
