import { expect, test } from 'vitest';
import { fakeHost, runningContainer } from '../lib/engine/resource/testing/fake-host.ts';
import { contextOf, type Given, refusal } from '../lib/node/testing/role-context.ts';
import oneSynchronizer from './one-synchronizer.ts';

test.each<[Given, string, string]>([
  [
    { hosts: (all) => all.filter(({ groups }) => !groups.includes('database')) },
    'there is none',
    'name one in group database: two synchronizers on one database corrupt it',
  ],
  [
    { hosts: (all) => all.map((host) => ({ ...host, groups: ['database'] })) },
    'there are db-1, rpc-1, rpc-2',
    'name one in group database: two synchronizers on one database corrupt it',
  ],
])('a deployment has one Database+Sync server: %#', async (given, words, hint) => {
  const resources = await oneSynchronizer.resources(await contextOf(given));
  const name = 'there is exactly one Database+Sync server';
  expect(await refusal(resources, name)).toEqual([`${name}: ${words}`, hint]);
});

test('a synchronizer on an RPC server is told with the command that ends it', async () => {
  const resources = await oneSynchronizer.resources(await contextOf({ group: 'rpc' }));
  const host = fakeHost([], { container: async () => runningContainer });
  expect(await refusal(resources, 'no synchronizer runs on an RPC server', host)).toEqual([
    'no synchronizer runs on an RPC server: the container sync is running',
    'two synchronizers on one database corrupt it: docker rm -f sync',
  ]);
});
