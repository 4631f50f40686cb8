import { expect, test } from 'vitest';
import { offset } from './words.ts';

test.each([
  [0.0000123, '12 µs ahead of'],
  [-0.0123, '12 ms behind'],
  [3.24, '3.2 s ahead of'],
])('a clock that is %f s off is %s', (value, words) => {
  expect(offset(value)).toBe(words);
});
