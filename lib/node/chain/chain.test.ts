import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { blockAt, blockNumber } from './chain.ts';

const hostWith = (result: unknown) =>
  fakeHost([[/probe/, `HTTP/1.1 200 OK\r\n\r\n${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}`]]);

test.each([
  ['0x0', 0],
  ['0x1f4', 500],
  ['0xABC', 2748],
])('a quantity is hexadecimal without leading zeros: %s', async (result, value) => {
  expect(await blockNumber(hostWith(result), 'http://x')).toEqual({ ok: true, value });
});

test.each(['0x', '0x01', '500', 500, null, '0xffffffffffffffffff'])(
  '%j is not a quantity',
  async (result) => {
    const error = `eth_blockNumber gives no valid block number: ${JSON.stringify(result)}`;
    expect(await blockNumber(hostWith(result), 'http://x')).toEqual({ ok: false, error });
  },
);

test('a block has a number, a hash and a time', async () => {
  const block = { number: '0x10', hash: '0xaa', timestamp: '0x3e8' };
  const value = { block: 16, hash: '0xaa', made: 1000 };
  expect(await blockAt(hostWith(block), 'http://x', 16)).toEqual({ ok: true, value });
  expect(await blockAt(hostWith(null), 'http://x', 16)).toEqual({ ok: true, value: undefined });
  expect(await blockAt(hostWith({ number: '0x10' }), 'http://x', 'latest')).toEqual({
    ok: false,
    error: 'eth_getBlockByNumber gives no block: {"number":"0x10"}',
  });
});
