import { closeSync, fstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../text/error-code.ts';
import { shellWord } from '../text/shell-word.mjs';
import { hintOfUnread, openOwn, whyUnread } from './bounded-file.ts';

/**
 * Why a private file cannot be used, and what to do. The message continues the file's path: `does
 * not exist`.
 */
export class PrivateFileFault extends Error {
  readonly hint: string | undefined;
  /** Whether the file does not exist. */
  readonly missing: boolean;

  constructor(what: string, hint?: string, missing = false) {
    super(what);
    this.name = 'PrivateFileFault';
    this.hint = hint;
    this.missing = missing;
  }
}

/**
 * Reads a file of mode 0600 or stricter that no other user could have written.
 *
 * @param most the size limit in bytes: a larger file is not a secret
 * @throws PrivateFileFault
 */
export async function readPrivateFile(path: string, most: number): Promise<string> {
  let file: number | undefined;
  try {
    file = openOwn(path);
    const found = fstatSync(file);
    if (!found.isFile()) throw new PrivateFileFault('is not a file');
    const mode = openMode(found);
    if (mode !== undefined)
      throw new PrivateFileFault(
        `has mode ${mode}; a secret must be 0600 or stricter`,
        `chmod 600 ${shellWord(path)}`,
      );
    if (found.size > most) throw new PrivateFileFault(`is ${found.size} bytes long, too long for a secret`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof PrivateFileFault) throw error;
    throw new PrivateFileFault(whyUnread(error), hintOfUnread(error), errorCode(error) === 'ENOENT');
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The mode of a file that others may read, as chmod takes it. */
function openMode({ mode }: Stats): string | undefined {
  return (mode & 0o077) === 0 ? undefined : (mode & 0o777).toString(8).padStart(4, '0');
}

/**
 * Why a file of this user is not used as a private key: others may read it. ssh does not use it
 * either, and asks this of no file of another user (sshkey_perm_ok in its authfile.c).
 *
 * @param text of the file: a public key may be read by all
 * @returns undefined where it may be used
 * @throws the file system's error where it cannot be looked at
 */
export function keyModeFault(path: string, text: string): PrivateFileFault | undefined {
  if (!/^-----BEGIN [A-Z ]*PRIVATE KEY-----$|^PuTTY-User-Key-File-/m.test(text)) return undefined;
  const found = statSync(path);
  const mode = found.uid === process.getuid?.() ? openMode(found) : undefined;
  if (mode === undefined) return undefined;
  return new PrivateFileFault(
    `has mode ${mode}; a private key must be 0600 or stricter`,
    `chmod 600 ${shellWord(path)}`,
  );
}

/**
 * Resolves a path as a shell would: `~/` is the home folder, and a relative path starts at
 * `folder`.
 */
export function pathFrom(folder: string, path: string): string {
  return resolve(folder, path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}

/** As pathFrom, starting at the folder of a file. */
export function pathBeside(file: string, path: string): string {
  return pathFrom(dirname(file), path);
}
