import { expect, test } from 'vitest';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { contextOf, type Given } from '../lib/node/testing/role-context.ts';
import sync from './sync.ts';
import verify from './verify.ts';

const names = async (role: typeof verify, given: Given) =>
  (await role.resources(await contextOf(given))).map(({ name }) => name);
const off = (...listeners: readonly string[][]): Changes =>
  listeners.map((path) => [['vars', 'node_config', ...path, 'Enabled'], false]);

test('every listener that the configuration enables is checked', async () => {
  expect(await names(verify, { group: 'rpc' })).toEqual([
    'eth_blockNumber on http://localhost:8123 gives a block',
    'http://localhost:8123 serves eth, net, debug, zkevm, txpool, web3',
    'http://localhost:8123 executes eth_call',
    'json-rpc answers over WebSocket on port 8133',
    'http://localhost:9092/metrics has the metrics of json-rpc',
    'the newest block on http://localhost:8123 grows',
    'blocks of json-rpc are those of the trusted sequencer',
  ]);
  expect(await names(sync, {})).toContain('http://localhost:9091/metrics has the metrics of sync');
});

test('a listener that is off is not asked', async () => {
  const changes = off(['RPC', 'WebSockets'], ['Metrics']);
  expect((await names(verify, { group: 'rpc', changes })).join()).not.toMatch(/WebSocket|metrics/);
  expect((await names(sync, { changes })).join()).not.toMatch(/metrics/);
});

test('sync is started only after its layer-1 blocks were compared with layer 1', async () => {
  const resources = await sync.resources(await contextOf({}));
  const compared = resources.findIndex(({ name }) => name.startsWith('layer 1 has the newest layer-1 block'));
  expect(compared).toBeGreaterThan(0);
  expect(compared).toBeLessThan(resources.findIndex(({ everyHost }) => everyHost !== undefined));
});
