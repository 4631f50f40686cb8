import type { Word } from './host.ts';
import { quote } from './quote.ts';

/**
 * Lines that set variables of a POSIX shell script, to be put before it: `NAME='value'`. Never a
 * Secret.
 */
export function shellSettings(settings: Readonly<Record<string, Exclude<Word, readonly unknown[]>>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${quote(value)}\n`)
    .join('');
}
