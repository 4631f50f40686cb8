import { Secret } from '../secret/secret.ts';
import { shellWord } from '../text/shell-word.ts';
import type { Word } from './host.ts';

/**
 * A word, or each item of an array as a word of its own, for a POSIX shell.
 *
 * @throws TypeError for a Secret (an argument list is seen by everybody on the host) and for what has no text a shell could hold
 */
export function quote(word: Word): string {
  return isArray(word) ? word.map(quoteOne).join(' ') : quoteOne(word);
}

function quoteOne(word: string | number): string {
  return shellWord(asText(word));
}

/** Playbooks are JavaScript too, so what the type forbids is checked once more. */
function asText(word: unknown): string {
  if (word instanceof Secret) {
    throw new TypeError(
      'a secret may not stand in a command, where every process list shows it; give it as { stdin: secret }',
    );
  }
  if (typeof word === 'number' && Number.isFinite(word)) return String(word);
  if (typeof word !== 'string') throw new TypeError(`${String(word)} cannot stand in a command`);
  if (word.includes('\0')) throw new TypeError('a word of a command cannot hold a NUL character');
  return word;
}

function isArray(word: Word): word is readonly (string | number)[] {
  return Array.isArray(word);
}
