import { readFileSync } from 'node:fs';
import type { Word } from './host.ts';
import { quote } from './quote.ts';

/** Reads a script for sh. Comments and indentation are dropped: every request would carry them to the host. */
export function readScript(file: URL): string {
  return readFileSync(file, 'utf8')
    .replace(/^ *#.*\n/gm, '')
    .replace(/^[ \n]+/gm, '');
}

/** A script with its arguments. @throws TypeError as `quote` does */
export function withArguments(script: string, words: readonly Word[]): string {
  return `set -- ${words.map(quote).join(' ')}\n${script}`;
}
