import { expect, test } from 'vitest';
import { jsonFault } from './json-fault.ts';

test.each<[string, [line: number, column: number, found?: string]]>([
  ['', [1, 1]],
  ['{"a": {"address": "10.0.0.1"', [1, 29]],
  ['{\n  "a": "x', [2, 10]],
  ['{\n', [2, 1]],
  ['Warning: at position 7\n{"a": 1}', [1, 1, 'W']],
  ['{"a": 1}\nWarning: x', [2, 1, 'W']],
  ['{"a":\n  tru}', [2, 6, '}']],
  ['{"a" 1}', [1, 6, '1']],
  ['{"a": 1,}', [1, 9, '}']],
  ["{\n  'a': 1}", [2, 3, "'"]],
  ['{"a": [\n 1,\n 🚧]}', [3, 2, '🚧']],
])('the fault of the text %j has a place', (text, [line, column, found]) => {
  expect(jsonFault(text)).toEqual({ line, column, found });
});

test('a fault far from the beginning is found', () => {
  expect(jsonFault(`[${'1,\n'.repeat(20_000)} x]`)).toEqual({ line: 20_001, column: 2, found: 'x' });
});

test('JSON has no fault', () => {
  expect(jsonFault(' {"a": [1, true, null]}\n')).toBeUndefined();
});
