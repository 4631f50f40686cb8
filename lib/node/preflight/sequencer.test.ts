import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { describeUnmet, isWarning, ok } from '../../engine/resource/resource.ts';
import { runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { sequencerAnswers } from './sequencer.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

const asked: string[] = [];

/**
 * A server of the chain of the lab.
 *
 * @param batches its answers about batches
 * @param unserved methods that it does not know
 * @returns its address, with a key
 */
async function sequencer(batches: object, unserved: readonly string[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await request.toArray()).join(''));
    asked.push(method);
    const ofMethod = unserved.includes(method) ? notServed : batches;
    const answer = method === 'eth_chainId' ? { result: '0xa7b14' } : ofMethod;
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/KEY-7`;
}

async function judged(
  batches: object,
  group: 'database' | 'rpc' = 'database',
  isDeployed = false,
  unserved: readonly string[] = [],
) {
  asked.length = 0;
  const url = await sequencer(batches, unserved);
  const resource = sequencerAnswers(await contextOf({ group, network: { trusted_sequencer_url: url } }));
  const verdict = await resource.check(
    localHost('', {
      container: async () => (isDeployed ? runningContainer : undefined),
      read: async () => Buffer.from(`"${url}"`),
    }),
  );
  const said = describeUnmet(resource, verdict).replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');
  return { verdict, said, warns: isWarning(resource, verdict) };
}

/** As geth and its kin answer, and a node of the chain without `zkevm` in its APIs. */
const notServed = {
  error: { code: -32_601, message: 'the method zkevm_batchNumber does not exist/is not available' },
};

test('a sequencer without batches is refused, also by a server that was deployed with it', async () => {
  for (const isDeployed of [false, true]) {
    const { said, warns } = await judged(notServed, 'database', isDeployed);
    expect([said, warns]).toEqual([
      'http://HOST does not serve zkevm_batchNumber and zkevm_getBatchByNumber, and the synchronizer follows the trusted sequencer by its batches\nname a node in network.trusted_sequencer_url that has zkevm among the enabled APIs of its RPC (--http.api)',
      false,
    ]);
  }
});

test('a provider that serves some methods alone is refused for the one that it lacks', async () => {
  const { said, warns } = await judged({ result: '0x3e8' }, 'database', false, ['zkevm_getBatchByNumber']);
  expect(warns).toBe(false);
  expect(said).toMatch(/^http:\/\/HOST does not serve zkevm_getBatchByNumber, and the synchronizer follows/);
});

test('a server with the synchronizer asks for a batch, an RPC server for the chain alone', async () => {
  expect((await judged({ result: '0x3e8' })).verdict).toEqual(ok);
  expect(asked.toSorted()).toEqual(['eth_chainId', 'zkevm_batchNumber', 'zkevm_getBatchByNumber']);
  expect((await judged(notServed, 'rpc')).verdict).toEqual(ok);
  expect(asked).toEqual(['eth_chainId']);
});

test('an error that passes is one of a sequencer that is away', async () => {
  const passes = { error: { code: -32_000, message: 'failed to get the last batch number from state' } };
  const words = 'http://HOST answers an error: -32000 failed to get the last batch number from state';
  const first = await judged(passes);
  expect([first.warns, first.said.split('\n')[0]]).toEqual([false, words]);
  const again = await judged(passes, 'database', true);
  expect(again.warns).toBe(true);
  expect(again.said).toContain(`${words}; this server goes on with the blocks that it has`);
});
