import { expect, test } from 'vitest';
import { didYouMean, editDistance, suggest } from './suggest.ts';

test.each([
  ['', 'abc', 3],
  ['abc', 'abc', 0],
  ['adress', 'address', 1],
  ['ulr', 'url', 1],
  ['kitten', 'sitting', 3],
])('%s and %s are %i edits apart', (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a)).toBe(distance);
});

test('the nearest word is suggested, or all words', () => {
  expect(suggest('inventry', ['host', 'inventory'])).toBe('inventory');
  expect(suggest('PORT', ['port', 'sort'])).toBe('port');
  expect(suggest('zzz', ['port'])).toBeUndefined();
  expect(suggest('x'.repeat(5000), ['x'])).toBeUndefined();
  expect(didYouMean('zzz', ['port', 'host'])).toBe('known: port, host');
  expect(didYouMean('zzz', [])).toBeUndefined();
});
