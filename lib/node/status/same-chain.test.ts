import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { describeVerdict, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { isOnTrustedChain } from './same-chain.ts';

/** A JSON-RPC server of a chain of blocks 0 to `newest`, forked from a number on. */
async function chain(newest: number, forkedFrom = Number.POSITIVE_INFINITY): Promise<string> {
  const quantity = (value: number) => `0x${value.toString(16)}`;
  const server = createServer(async (request, response) => {
    const { id, method, params } = JSON.parse((await request.toArray()).join('')) as {
      id: number;
      method: string;
      params: [string];
    };
    const number = params[0] === 'latest' ? newest : Number(params[0]);
    const hash = `0x${number >= forkedFrom ? 'f' : 'a'}${number}`;
    const parentHash = '0xee';
    const block = {
      parentHash,
      number: quantity(number),
      hash,
      timestamp: '0x1',
      transactions: ['0x1', '0x2'],
    };
    const result = method === 'eth_getBlockByNumber' ? (number > newest ? null : block) : '0x1';
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function check(own: string, trusted: string, host = localHost()) {
  const { vars } = await contextOf({ network: { trusted_sequencer_url: trusted } });
  return isOnTrustedChain('json-rpc', own, vars).check(host);
}

test.each([
  ['as far as the sequencer', 10, 10],
  ['behind', 7, 10],
  ['ahead', 12, 10],
])('a node on the same chain is ok: %s', async (_, own, trusted) => {
  expect(await check(await chain(own), await chain(trusted))).toEqual(ok);
});

test.each([
  ['as far as the sequencer', 10, 10, 'block 10 is 0xf10 here and 0xa10 there'],
  ['behind', 7, 10, 'block 7 is 0xf7 here and 0xa7 there'],
  ['ahead', 12, 10, 'block 10 is 0xf10 here and 0xa10 there'],
])('a node on a fork is refused with the words of status: %s', async (_, own, trusted, words) => {
  const verdict = await check(await chain(own, 5), await chain(trusted));
  expect(verdict).toEqual({
    is: 'drift',
    differences: [],
    note: `diverged from the trusted sequencer: ${words}`,
  });
});

test('what does not answer is named', async () => {
  const gone = 'http://127.0.0.1:1';
  const url = await chain(3);
  const away = await check(url, gone);
  expect(describeVerdict(away)).toMatch(/^not compared: http:\/\/127\.0\.0\.1:1 does not answer: ./);
  // The component serves the blocks that it has.
  expect(away).toMatchObject({ warns: true });
  expect(describeVerdict(await check(gone, url))).toMatch(/[Cc]onnect|refused/);
  expect(await check(gone, url)).not.toHaveProperty('warns');
  const stopped = localHost('', { container: async () => undefined });
  expect(await check(gone, url, stopped)).toEqual(unknownUntil('json-rpc is running'));
});
