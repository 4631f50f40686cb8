import { expect, test } from 'vitest';
import { lineOfInexactNumber } from './exact-json.ts';

test.each([
  '{"a": 9007199254740991, "b": -9007199254740991}',
  '{"a": 0.10, "b": 1e3, "c": -0, "d": 0, "e": [1, 2.50]}',
  '{"9223372036854775807": "9223372036854775807", "a\\"1e999": "\\\\"}',
  '',
])('%s keeps its value', (text) => {
  expect(lineOfInexactNumber(text)).toBeUndefined();
});

test.each([
  ['{\n  "hard": 9223372036854775807\n}', 2],
  // The value is exact, but its notation changes.
  ['[9223372036854775808]', 1],
  ['{"a": 1,\n"b":\n-12345678901234567890}', 3],
  ['[1e400]', 1],
])('%j has a number that does not keep its value', (text, line) => {
  expect(lineOfInexactNumber(text)).toBe(line);
});
