import { readFileSync } from 'node:fs';

/**
 * The text of a small file; undefined if it cannot be read. Every login reads some: a read without
 * waiting takes a tenth of the processor time.
 */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
