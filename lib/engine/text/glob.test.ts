import { expect, test } from 'vitest';
import { cpuSeconds } from '../testing/cpu-seconds.ts';
import { fitsInOrder } from './glob.ts';

test.each([
  ['rpc-1', ['rpc-1'], true],
  ['rpc-12', ['rpc-1'], false],
  ['rpc-1', ['', ''], true],
  ['rpc-1', ['rpc', ''], true],
  ['rpc-1', ['', '-1'], true],
  ['a', ['a', 'a'], false],
  ['abcabc', ['a', 'c.', 'c'], true],
  ['abc', ['a', 'b', 'b', ''], false],
])('%s by %j: %s', (text, pieces, fits) => expect(fitsInOrder(text, pieces)).toBe(fits));

test('many asterisks between letters are matched quickly', async () => {
  const pieces = [...Array.from({ length: 40 }, () => 'a'), 'b'];
  expect(await cpuSeconds(() => expect(fitsInOrder('a'.repeat(200), pieces)).toBe(false))).toBeLessThan(0.5);
});
