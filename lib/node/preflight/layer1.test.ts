import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { describeUnmet, isWarning, ok, type Resource } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { layer1Answers } from './layer1.ts';
import { chainsOf, serversOf } from './places.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Requests of all providers, in the order of their arrival. */
const asked: string[] = [];

/**
 * A provider of layer 1.
 *
 * @param logs its answer to `eth_getLogs`
 * @returns its address, with a key
 */
async function provider(chainId = 55_555, logs: object = { result: [] }): Promise<string> {
  const server = createServer(async (request, response) => {
    const { id, method, params } = JSON.parse((await request.toArray()).join(''));
    asked.push(method === 'eth_getLogs' ? JSON.stringify(params) : method);
    const results: Readonly<Record<string, object>> = {
      eth_chainId: { result: `0x${chainId.toString(16)}` },
      eth_blockNumber: { result: '0x7530' },
      eth_getLogs: logs,
    };
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...results[method] }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/KEY-7`;
}

const away = 'http://127.0.0.1:1/KEY-8';

/** One address is `l1_rpc_url`. */
async function contextWith(urls: readonly string[], group: 'database' | 'rpc' = 'database') {
  const [first, ...others] = urls;
  if (others.length === 0) return contextOf({ group, network: { l1_rpc_url: first } });
  return contextOf({
    group,
    changes: [
      [['vars', 'network', 'l1_rpc_url'], undefined],
      [['vars', 'network', 'l1_rpc_urls'], urls],
    ],
  });
}

async function judged(...urls: readonly string[]) {
  return judgedBy(layer1Answers(await contextWith(urls)));
}

/** @param deployed the address in the settings of a node that runs there */
async function judgedBy(resources: readonly Resource[], deployed?: string) {
  const resource = resources.find(({ name }) => name.includes('layer 1 answer'));
  if (!resource) throw new Error('nobody is asked');
  const verdict = await resource.check(
    localHost('', {
      container: async () => (deployed === undefined ? undefined : runningContainer),
      read: async () => (deployed === undefined ? undefined : Buffer.from(`"${deployed}"`)),
    }),
  );
  return { verdict, warns: isWarning(resource, verdict), words: describeUnmet(resource, verdict) };
}

test('each provider is asked what the node asks: its chain, its height, and logs of so many blocks', async () => {
  asked.length = 0;
  const { verdict } = await judged(await provider(), await provider());
  expect(verdict).toEqual(ok);
  const range = { fromBlock: '0x2710', toBlock: '0x7530', address: `0x${'0'.repeat(39)}1` };
  expect(asked.filter((each) => each === JSON.stringify([range]))).toHaveLength(2);
  expect(asked).toHaveLength(6);
});

const tooMany = { error: { code: -32_600, message: 'eth_getLogs is limited to a 10,000 block range' } };

test('a single address is asked the same as each of several, in one request to the host', async () => {
  asked.length = 0;
  expect((await judged(await provider())).verdict).toEqual(ok);
  const range = { fromBlock: '0x2710', toBlock: '0x7530', address: `0x${'0'.repeat(39)}1` };
  expect(asked.toSorted()).toEqual([JSON.stringify([range]), 'eth_blockNumber', 'eth_chainId']);
  const limited = await judged(await provider(55_555, tooMany));
  expect([limited.verdict.is, limited.warns]).toEqual(['drift', false]);
  expect(limited.words).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+ gives no logs of 20000 blocks: http:\/\/127\.0\.0\.1:\d+ answers an error: -32600 eth_getLogs is limited to a 10,000 block range\nuse another provider, or a smaller node_config\.Etherman\.ForkIDChunkSize in the inventory$/,
  );
  const gone = await judged(away);
  expect(gone.words).toMatch(/^http:\/\/127\.0\.0\.1:1 does not answer: .*\ncheck network\.l1_rpc_url and/);
  const odd = await judged(await provider(55_555, { result: 'none' }));
  expect(odd.warns).toBe(true);
  expect(odd.words).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+ gives no logs of its newest blocks; the node asks for logs at its start\n/,
  );
});

test('where a node has read its logs from that address, a failure to give them is a warning', async () => {
  const url = await provider(55_555, tooMany);
  const resources = layer1Answers(await contextWith([url]));
  const again = await judgedBy(resources, url);
  expect(again.warns).toBe(true);
  expect(again.words).toMatch(/is limited to a 10,000 block range; this server goes on with what it has\n/);
  expect((await judgedBy(resources, 'http://other.example')).verdict.is).toBe('drift');
  const chain = await provider(1);
  expect((await judgedBy(layer1Answers(await contextWith([chain])), chain)).warns).toBe(false);
});

// Words of geth, of a server behind a balancer that lacks the newest block.
test('a server that lacks the newest block gives logs later', async () => {
  const behind = { error: { code: -32_602, message: 'block range extends beyond current head block' } };
  expect((await judged(await provider(55_555, behind))).warns).toBe(true);
  const several = await judged(await provider(55_555, behind), await provider());
  expect([several.warns, several.words]).toEqual([
    true,
    expect.stringContaining('; the node uses the others'),
  ]);
});

test('an RPC server, whose node reads no logs of layer 1, asks a single address for its chain alone', async () => {
  asked.length = 0;
  const rpc = await contextWith([await provider(55_555, tooMany)], 'rpc');
  expect((await judgedBy(layer1Answers(rpc))).verdict).toEqual(ok);
  expect(asked).toEqual(['eth_chainId']);
});

test('one that is away is a warning while another answers, and all of them are a refusal', async () => {
  const one = await judged(await provider(), away);
  expect(one.warns).toBe(true);
  expect(one.words).toMatch(/http:\/\/127\.0\.0\.1:1 does not answer: .*; the node uses the others/);
  const all = await judged(away, 'http://127.0.0.1:2/KEY-9');
  expect([all.warns, all.verdict.is]).toEqual([false, 'drift']);
  expect(one.words + all.words).not.toContain('KEY-');
});

test.each<[what: string, chainId: number, logs: object | undefined, words: RegExp]>([
  [
    'is of another chain',
    1,
    undefined,
    /:\d+ is of the chain with id 1, and has to be of the one with id 55555$/,
  ],
  [
    'limits the blocks of one request',
    55_555,
    tooMany,
    /:\d+ gives no logs of 20000 blocks: .*limited to a 10,000 block range/,
  ],
])('one that %s is refused, although others are good', async (_, chainId, logs, words) => {
  const { verdict, warns, words: said } = await judged(await provider(), await provider(chainId, logs));
  expect([verdict.is, warns]).toEqual(['drift', false]);
  expect(said.split('\n')[0]).toMatch(words);
  expect(said).not.toContain('KEY-');
});

test('a limit of requests is a warning: it passes', async () => {
  const limited = await provider(55_555, { error: { code: -32_005, message: 'request rate exceeded' } });
  expect((await judged(await provider(), limited)).warns).toBe(true);
});

test('a port that another program holds is refused; HAProxy itself may have it', async () => {
  const resources = layer1Answers(await contextWith([away, 'http://b.example/']));
  const resource = resources.find(({ name }) => name === 'port 8547 is free for layer 1');
  const held = 'LISTEN 0 511 0.0.0.0:8547 0.0.0.0:* users:(("geth",pid=813,fd=6))\n';
  const unit = { load: 'loaded', sub: '', enabled: 'enabled', activeSince: 0, needsReload: false };
  const of = (active: string) => fakeHost([[/ss -/, held]], { unit: async () => ({ ...unit, active }) });
  const refused = (await resource?.check(of('inactive'))) ?? ok;
  expect(resource && describeUnmet(resource, refused)).toContain('port 8547 is held by geth (process 813)');
  expect(await resource?.check(of('active'))).toEqual(ok);
});

test('an RPC server asks no provider: its node asks the Database+Sync server', async () => {
  const urls = [await provider(), 'http://10.9.8.7/'];
  const rpc = await contextWith(urls, 'rpc');
  expect(layer1Answers(rpc)).toEqual([]);
  expect(chainsOf(rpc)).toContainEqual({
    host: '172.30.77.11',
    port: 8547,
    whose: 'layer 1, by HAProxy on db-1',
  });
  const database = await contextWith(urls);
  expect(chainsOf(database).map(({ whose }) => whose)).toEqual(['the trusted sequencer']);
  expect(serversOf(database)).toContainEqual({ host: '10.9.8.7', port: 80, whose: 'layer 1' });
});
