import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Why a file is not read. The message continues the file's path: `is a folder`. */
export class UnfitFile extends Error {}

/** Why readBounded failed; it continues the file's path: `does not exist`. */
export function whyUnread(error: unknown): string {
  if (error instanceof UnfitFile) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`;
}

/**
 * Reads a file with an untrusted name. It may be an endless device, a pipe without a writer, or a huge file.
 *
 * @param most the size limit in bytes
 * @throws UnfitFile for a file that is too large, or not a file
 * @throws the file system's error where the file cannot be read
 */
export function readBounded(path: string, most: number): Buffer {
  // Without O_NONBLOCK the open of a pipe waits for a writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (found.isDirectory()) throw new UnfitFile('is a folder');
    if (!found.isFile()) throw new UnfitFile('is not a file');
    if (found.size > most) throw new UnfitFile(`is ${found.size} bytes long, and no more than ${most} are read`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}
