import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import type { Word } from './host.ts';
import { quote } from './quote.ts';

/** The words that a real shell reads, each ended by a NUL. */
function wordsSeenBySh(quoted: string): string[] {
  const printed = execFileSync('sh', ['-c', `set -- ${quoted}\n[ $# = 0 ] || printf '%s\\0' "$@"`], {
    encoding: 'utf8',
  });
  return printed.split('\0').slice(0, -1);
}

/** Half of the characters are special in a shell. */
const character = fc.oneof(
  fc.constantFrom(...'\'"\\$`!*?[]{}()<>|&;#~=%^ \t\n\r-', 'é', '雪', '\u{1f600}', '\u007f', '\u0001'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).filter((text) => !text.includes('\0')),
);
const word = fc.array(character, { maxLength: 30 }).map((characters) => characters.join(''));

test('the shell receives every word unchanged', () => {
  // Many lists in one shell: a process for each would make the test slow.
  fc.assert(
    fc.property(fc.array(word, { minLength: 50, maxLength: 200 }), (words) => {
      expect(wordsSeenBySh(quote(words))).toEqual(words);
    }),
    { numRuns: 60 },
  );
});

test('the first word of a command stays a word: no assignment, no path expansion, no comment', () => {
  for (const text of ['A=b', '~root', '#x', '-n', '*', ''])
    expect(wordsSeenBySh(quote(text))).toEqual([text]);
});

test('a number is a word, an empty array adds no word', () => {
  expect(quote(8080)).toBe('8080');
  expect(quote([])).toBe('');
  expect(quote(['a b', 1])).toBe("'a b' 1");
});

test('a value that cannot or may not be a word is an error that shows no secret', () => {
  const secret = new Secret('hunter22') as unknown as Word;
  expect(() => quote(secret)).toThrow(/stdin/);
  expect(() => quote([secret] as unknown as Word)).toThrow(/stdin/);
  expect(() => quote(secret)).not.toThrow(/hunter22/);
  expect(() => quote('a\0b')).toThrow(/NUL/);
  for (const bad of [undefined, null, Number.NaN, true, {}])
    expect(() => quote(bad as unknown as Word)).toThrow(TypeError);
});
