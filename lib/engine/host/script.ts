import { readFileSync } from 'node:fs';
import type { Word } from './host.ts';
import { quote } from './quote.ts';

const scripts: string[] = [];

/** Reads a program that is put on a host, with the files of functions that it needs before it. */
export function readProgram(...files: readonly URL[]): string {
  return files.map((file) => readFileSync(file, 'utf8')).join('');
}

/**
 * Reads a script for sh, with the files of functions that it needs before it. Comments and
 * indentation are dropped: every request would carry them to the host.
 */
export function readScript(...files: readonly URL[]): string {
  const script = readProgram(...files)
    .replace(/^ *#.*\n/gm, '')
    .replace(/^[ \n]+/gm, '');
  scripts.push(script);
  return script;
}

/**
 * Texts for sh as words in one script, in which scripts that several texts end with are only once.
 */
export function sharedWords(): { word(text: string): string; definitions(): string } {
  const used = new Map<string, string>();
  return {
    word(text) {
      const end = scripts.find((script) => script !== '' && text.endsWith(script));
      if (end === undefined) return quote(text);
      const name = used.get(end) ?? `__shared${used.size}`;
      used.set(end, name);
      return `${quote(text.slice(0, -end.length))}"$${name}"`;
    },
    definitions: () => [...used].map(([script, name]) => `${name}=${quote(script)}\n`).join(''),
  };
}

/**
 * A script with its arguments.
 *
 * @throws TypeError as `quote` does
 */
export function withArguments(script: string, words: readonly Word[]): string {
  return `set -- ${words.map(quote).join(' ')}\n${script}`;
}
