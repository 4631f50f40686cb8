import { Secret } from '../secret/secret.ts';
import { shellWord } from '../text/shell-word.mjs';
import type { Word } from './host.ts';

/**
 * A word, or each item of an array as a word of its own, for a POSIX shell.
 *
 * @throws TypeError for a Secret (every process list shows an argument) and for a value without
 * text that a shell accepts
 */
export function quote(word: Word): string {
  return [word].flat().map(quoteOne).join(' ');
}

/** Playbooks are JavaScript too, so values that the type forbids are checked once more. */
function quoteOne(word: unknown): string {
  if (word instanceof Secret) {
    throw new TypeError(
      'a secret cannot be part of a command: every process list shows it. Pass it as { stdin: secret }',
    );
  }
  if (typeof word === 'number' && Number.isFinite(word)) return String(word);
  if (typeof word !== 'string') throw new TypeError(`${String(word)} cannot be a word of a command`);
  if (word.includes('\0')) throw new TypeError('a word of a command cannot hold a NUL character');
  return shellWord(word);
}
