import { readFile, stat } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { shellWord } from '../text/shell-word.ts';

/** Why a private file cannot be used, to go on from its path, and what to do about it. */
export class PrivateFileFault extends Error {
  readonly hint: string | undefined;
  /** Whether there is no such file at all. */
  readonly missing: boolean;

  constructor(what: string, hint?: string, missing = false) {
    super(what);
    this.name = 'PrivateFileFault';
    this.hint = hint;
    this.missing = missing;
  }
}

/**
 * Reads a file that nobody else may read: mode 0600 or stricter, the operator's own or root's.
 *
 * @param most bytes; a larger one is some other file
 * @throws PrivateFileFault
 */
export async function readPrivateFile(path: string, most: number): Promise<string> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new PrivateFileFault('is not a file');
    const mode = found.mode & 0o777;
    if ((mode & 0o077) !== 0) {
      const octal = mode.toString(8).padStart(3, '0');
      throw new PrivateFileFault(
        `has mode 0${octal}; a secret must be 0600 or stricter`,
        `chmod 600 ${shellWord(path)}`,
      );
    }
    const me = userInfo();
    if (found.uid !== me.uid && found.uid !== 0) {
      throw new PrivateFileFault(
        `belongs to user id ${found.uid}; it must be yours`,
        `chown ${me.username} ${shellWord(path)}`,
      );
    }
    if (found.size > most) throw new PrivateFileFault(`is ${found.size} bytes long: that is no secret`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof PrivateFileFault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new PrivateFileFault('does not exist', undefined, true);
    throw new PrivateFileFault(`cannot be read (${code ?? 'unknown error'})`);
  }
}

/** A path as an operator writes it: `~/` is the home folder, and what is relative is so to a folder. */
export function pathFrom(folder: string, path: string): string {
  return resolve(folder, path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}

/** As pathFrom, beside a file. */
export function pathBeside(file: string, path: string): string {
  return pathFrom(dirname(file), path);
}
