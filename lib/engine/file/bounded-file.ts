import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Why a file is not read, to go on from its path. */
export class UnfitFile extends Error {}

/**
 * A file that may be anything, as what a name leads to that came from somebody else: a device without end, a pipe that nobody
 * writes to, another file altogether.
 *
 * @param most bytes
 * @throws UnfitFile where it is no file, or larger
 * @throws what the file system throws where it cannot be read
 */
export function readBounded(path: string, most: number): Buffer {
  // A pipe would be waited for.
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
