import { expect, test } from 'vitest';
import oneSynchronizer from '../../../roles/one-synchronizer.ts';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf, type Given, refusal } from '../testing/role-context.ts';

const hint =
  'two synchronizers on one database corrupt it: stop it for good, for example with docker rm -f sync';

test.each<[Given['group'], string, string]>([
  ['rpc', 'no synchronizer runs on an RPC server', "''"],
  ['database', 'no other synchronizer runs on the Database+Sync server', 'own'],
])(
  'a synchronizer that does not belong on a host of group %s is named with what ends it',
  async (group, name, own) => {
    const resources = await oneSynchronizer.resources(await contextOf({ ...(group && { group }) }));
    const host = (found: string) => fakeHost([[new RegExp(`synchronizers sync ${own}$`), found]]);
    expect(await refusal(resources, name, host('container sync running'))).toEqual([
      `${name}: the container sync is running`,
      hint,
    ]);
    expect(await refusal(resources, name, host(''))).toEqual([undefined, undefined]);
    // A later role starts the engine.
    expect(await refusal(resources, name, host('engine'))).toEqual([undefined, undefined]);
  },
);

test('a replica that the inventory has as the server is not deployed to, but switched to', async () => {
  process.env.REPLICA_PASSWORD = 'replica.Pw~5';
  const replicas: Changes = [
    [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
    [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
  ];
  const [look] = await oneSynchronizer.resources(await contextOf({ changes: replicas }));
  if (look?.name !== 'state-db is no replica') throw new Error('a deployment with replicas looks');
  const answers = (...row: readonly string[]) =>
    fakeHost([], { sql: async () => ({ ok: true, rows: [row] }) });
  expect(describeVerdict(await look.check(answers('t', 'host=10.0.0.9 port=5432')))).toBe(
    'it follows another server',
  );
  expect(look.hint).toBe('switch.mjs makes it the Database+Sync server');
  // One that replays its own log after a power cut follows nobody, nor does one that does not run
  // yet.
  expect(await look.check(answers('t', ''))).toEqual(ok);
  expect(await look.check(answers('f', 'host=10.0.0.9'))).toEqual(ok);
  expect(await look.check(fakeHost([]))).toEqual(ok);
});
