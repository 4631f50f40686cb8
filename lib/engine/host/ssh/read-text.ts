import { readPlain } from '../../file/bounded-file.ts';

/** Of a key, or of a list of keys. Bytes. */
export const longestKeys = 64 * 1024 ** 2;

/**
 * The text of a file of keys; undefined if it cannot be read, or is no file. Every login reads some:
 * a read without waiting takes a tenth of the processor time.
 */
export function readText(path: string): string | undefined {
  try {
    return readPlain(path, longestKeys).toString();
  } catch {
    return undefined;
  }
}
