import { expect, test } from 'vitest';
import { fakeHost } from '../lib/engine/resource/testing/fake-host.ts';
import { contextOf, type Given, refusal } from '../lib/node/testing/role-context.ts';
import oneSynchronizer from './one-synchronizer.ts';

const hint = 'two synchronizers on one database corrupt it: stop it for good, for example with docker rm -f sync';

test.each<[Given['group'], string, string]>([
  ['rpc', 'no synchronizer runs on an RPC server', "''"],
  ['database', 'no other synchronizer runs on the Database+Sync server', 'own'],
])('a synchronizer that does not belong on a host of group %s is named with what ends it', async (group, name, own) => {
  const resources = await oneSynchronizer.resources(await contextOf({ ...(group && { group }) }));
  const host = (found: string) => fakeHost([[new RegExp(`synchronizers sync ${own}$`), found]]);
  expect(await refusal(resources, name, host('container sync running'))).toEqual([
    `${name}: the container sync is running`,
    hint,
  ]);
  expect(await refusal(resources, name, host(''))).toEqual([undefined, undefined]);
  // A later role starts the engine.
  expect(await refusal(resources, name, host('engine'))).toEqual([undefined, undefined]);
});
