import { expect, test } from 'vitest';
import { didYouMean, suggest } from './suggest.ts';

test.each([
  ['prt', 'port', true],
  ['sort', 'port', true],
  ['ulr', 'url', true],
  ['--abcd', '--badc', true],
  ['-abcd', '-badc', false],
  ['--kitten', '--sitting', true],
  ['-kitten', '-sitting', false],
  ['', 'abc', false],
])('a third of the letters may be inserted, deleted, replaced or swapped: %s, %s: %s', (a, b, isNear) => {
  expect(suggest(a, [b])).toBe(isNear ? b : undefined);
  expect(suggest(b, [a])).toBe(isNear ? a : undefined);
});

test('the nearest word is suggested, or all words', () => {
  expect(suggest('inventry', ['host', 'inventory'])).toBe('inventory');
  expect(suggest('PORT', ['sort', 'port'])).toBe('port');
  expect(suggest('zzz', ['port'])).toBeUndefined();
  expect(suggest('x'.repeat(5000), ['x'])).toBeUndefined();
  expect(didYouMean('zzz', ['port', 'host'])).toBe('known: port, host');
  expect(didYouMean('zzz', [])).toBeUndefined();
});
