import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { describeUnmet, isWarning, ok } from '../../engine/resource/resource.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import type { Variables } from '../variables/variables.ts';
import { layer1HasContract } from './genesis.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

const contract = `0x${'1'.repeat(40)}`;
const genesis = JSON.stringify({
  root: `0x${'5'.repeat(64)}`,
  rollupCreationBlockNumber: 2,
  rollupManagerCreationBlockNumber: 1,
  l1Config: {
    chainId: 55_555,
    polygonZkEVMAddress: contract,
    polygonRollupManagerAddress: `0x${'2'.repeat(40)}`,
    polTokenAddress: `0x${'3'.repeat(40)}`,
    polygonZkEVMGlobalExitRootAddress: `0x${'4'.repeat(40)}`,
  },
  genesis: [{ accountName: 'deployer', balance: '0', nonce: '8', address: `0x${'b'.repeat(40)}` }],
});
const sha256 = sha256Of(genesis);

/** Whether the requests have asked for the contract. */
let asked: string[] = [];

/** A layer 1 that answers `eth_getCode` so, with the genesis file beside it. */
async function layer1(code: object): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void response.end(genesis);
    const { id, method, params } = JSON.parse((await request.toArray()).join(''));
    asked.push(`${method} ${params}`);
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...code }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/KEY-7`;
}

async function judged(
  urls: readonly string[],
  { there = '', group = 'database' as 'database' | 'rpc' } = {},
) {
  asked = [];
  const [url = '', ...others] = urls;
  const file = { url: `${url.replace(/KEY.*/, '')}genesis.json`, sha256 };
  const layer1Urls: Partial<Variables['network']> =
    others.length > 0 ? { l1_rpc_url: undefined, l1_rpc_urls: [...urls] } : { l1_rpc_url: url };
  const context = await contextOf({ group, network: { ...layer1Urls, genesis: file } });
  const [resource] = layer1HasContract(context);
  if (!resource) return undefined;
  const verdict = await resource.check(localHost('', { sha256: async () => there }));
  return { verdict, warns: isWarning(resource, verdict), words: describeUnmet(resource, verdict) };
}

const synchronised = { result: '0x6080' };
const synchronising = { result: '0x' };

test('a layer 1 that is still synchronising is refused before a restore of hours', async () => {
  expect((await judged([await layer1(synchronised)]))?.verdict).toEqual(ok);
  expect(asked).toEqual([`eth_getCode ${contract},latest`]);
  const refused = await judged([await layer1(synchronising)]);
  expect([refused?.verdict.is, refused?.warns]).toEqual(['drift', false]);
  expect(refused?.words).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+ has no contract at 0x1{40}, the polygonZkEVMAddress of the genesis file\na layer 1 that is still synchronising has to be synchronised first; else network\.l1_rpc_url and network\.genesis are of different networks$/,
  );
  expect((await judged([await layer1(synchronising)], { group: 'rpc' }))?.verdict.is).toBe('drift');
});

test('of several providers one without the contract is a warning, and an RPC server asks none', async () => {
  const both = await judged([await layer1(synchronised), await layer1(synchronising)]);
  expect(both?.warns).toBe(true);
  expect(both?.words).toMatch(/ of the genesis file; the node uses the others$/m);
  const none = await judged([await layer1(synchronising), await layer1(synchronising)]);
  expect([none?.verdict.is, none?.warns]).toEqual(['drift', false]);
  expect(none?.words).toContain('network.l1_rpc_urls and network.genesis');
  const urls = [await layer1(synchronising), await layer1(synchronising)];
  expect(await judged(urls, { group: 'rpc' })).toBeUndefined();
});

test('a server with the genesis file is not asked, and no answer to the question is no refusal', async () => {
  expect((await judged([await layer1(synchronising)], { there: sha256 }))?.verdict).toEqual(ok);
  expect(asked).toEqual([]);
  const odd = { error: { code: -32_601, message: 'the method eth_getCode does not exist' } };
  expect((await judged([await layer1(odd)]))?.verdict).toEqual(ok);
  expect((await judged(['http://127.0.0.1:1/KEY-8']))?.verdict).toEqual(ok);
});
