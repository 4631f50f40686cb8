import { readPlain, whyUnread } from '../../file/bounded-file.ts';
import { errorCode } from '../../text/error-code.ts';

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

/**
 * Why a file of keys that is there cannot be read; it continues the path. undefined for one that is
 * not there, and for `/dev/null`, which ssh_config names for none.
 */
export function whyUnreadable(path: string): string | undefined {
  if (path === '/dev/null') return undefined;
  try {
    readPlain(path, longestKeys);
    return undefined;
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : whyUnread(error);
  }
}
