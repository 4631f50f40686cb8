import { expect, test } from 'vitest';
import { quantity, readBlock } from './chain.ts';

test.each([
  ['0x0', 0],
  ['0x1f4', 500],
  ['0xABC', 2748],
  ['0x', undefined],
  ['0x01', undefined],
  ['500', undefined],
  [500, undefined],
  [null, undefined],
  ['0xffffffffffffffffff', undefined],
])('a quantity is hexadecimal without leading zeros: %s', (value, number) => {
  expect(quantity(value)).toBe(number);
});

test('a block has a number and an age', () => {
  expect(readBlock({ number: '0x10', timestamp: '0x3e8' }, 1060)).toEqual({ ok: true, value: { number: 16, age: 60 } });
  expect(readBlock(null, 0)).toEqual({ ok: false, error: 'eth_getBlockByNumber gives no block' });
});
