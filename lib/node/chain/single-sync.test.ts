import { expect, test } from 'vitest';
import { drift, ok, refusalOf, unknownUntil } from '../../engine/resource/resource.ts';
import { alone, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../../engine/resource/testing/test-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { rewindSession } from './rewind-session.ts';
import { noForeignSynchronizer, noOtherSynchronizer, noSynchronizer } from './single-sync.ts';

const container = {
  raw: { NetworkSettings: { Networks: { rpc_node: { IPAddress: '172.18.0.2', IPPrefixLen: 16 } } } },
};

const stranger = (address: string) =>
  `a node on ${address} is connected to the state database, and is not a host of this inventory`;

/**
 * A host whose state database has these clients: address, whether it writes, whether it was seen
 * to read only.
 */
function databaseWith(
  clients: readonly (readonly [string, 't' | 'f', 't' | 'f'])[],
  found = '',
  rewinds: readonly string[] = [],
): TestHost {
  return fakeHost(
    [
      [/^getent ahosts rpc.example/, '203.0.113.77 STREAM rpc.example\n203.0.113.77 DGRAM'],
      [/synchronizers/, found],
    ],
    {
      name: 'db-1',
      container: async () => ({ ...runningContainer, ...container }),
      sql: async (_target, query) => ({
        ok: true,
        rows: query.includes(rewindSession) ? rewinds.map((pid) => [pid]) : clients,
      }),
    },
  );
}

test.each([
  ['172.18.255.9', true],
  ['172.19.0.2', false],
  ['127.0.0.1', true],
  ['::1', true],
  ['203.0.113.4', false],
  ['2001:db8::1', false],
])('%s is in the network of a container of 172.18.0.0/16, or this host itself: %s', async (address, is) => {
  const verdict = await noForeignSynchronizer(await contextOf({})).check(databaseWith([[address, 't', 'f']]));
  expect(verdict).toEqual(is ? ok : drift(stranger(address)));
});

test('a stranger at the state database is named, with what to do', async () => {
  const alone = noForeignSynchronizer(await contextOf({}));
  const host = databaseWith([
    ['203.0.113.4', 'f', 't'],
    ['172.30.77.12', 'f', 't'],
    ['172.18.0.5', 't', 'f'],
  ]);
  await expect(applyDrift(host, alone)).rejects.toMatchObject({
    message:
      'no other synchronizer uses the state database: a node on 203.0.113.4 is connected to the state database, and is not a host of this inventory',
    hint: expect.stringMatching(
      /^stop the node there, .* docker exec state-db psql -U state_user -d state_db -c "select pg_terminate_backend\(pid\) from pg_stat_activity where client_addr = 'ADDRESS'"$/,
    ),
  });
});

test('what writes to the state database from another host of the inventory is a synchronizer', async () => {
  const host = databaseWith([['172.30.77.12', 't', 'f']]);
  const words = 'a node on 172.30.77.12 writes to the state database, which only a synchronizer does';
  expect(await noForeignSynchronizer(await contextOf({})).check(host)).toMatchObject(drift(words));
  expect(await noOtherSynchronizer(await contextOf({})).check(host, [], alone)).toEqual(drift(words));
});

test('the sessions of a host that could not be checked have to be seen to read only', async () => {
  const { check } = noOtherSynchronizer(await contextOf({}));
  const idle = databaseWith([['172.30.77.12', 'f', 'f']]);
  expect(await check(idle, [], alone)).toEqual(ok);
  expect(await check(idle, ['rpc-2'], alone)).toEqual(ok);
  expect(await check(idle, ['rpc-1'], alone)).toEqual(
    drift(
      'a node on 172.30.77.12, which could not be checked, is connected to the state database and may be writing',
    ),
  );
  expect(await check(databaseWith([['172.30.77.12', 'f', 't']]), ['rpc-1'], alone)).toEqual(ok);
});

test('a host that the inventory names is known by the addresses of its name', async () => {
  const context = await contextOf({
    hosts: (all) =>
      all.map((host) =>
        host.name === 'rpc-1'
          ? { ...host, connection: { ...host.connection, address: 'rpc.example' } }
          : host,
      ),
  });
  const { check } = noOtherSynchronizer(context);
  const host = databaseWith([['203.0.113.77', 'f', 'f']]);
  expect(await check(host, [], alone)).toEqual(ok);
  expect(await check(host, ['rpc-1'], alone)).toMatchObject({ is: 'drift' });
});

test('before a synchronizer is started each host shows what runs there', async () => {
  const { check, hint } = noOtherSynchronizer(await contextOf({}));
  const other = (found: string) => fakeHost([[/synchronizers sync ''/, found]], { name: 'rpc-1' });
  expect(await check(other(''), [], alone)).toEqual(ok);
  expect(await check(other('container sync paused\nprocess 77 zkevm-node\nstart 78'), [], alone)).toEqual(
    drift(
      'the container sync is paused, the process 77 (zkevm-node) is a synchronizer, the process 78 is about to start the container sync',
    ),
  );
  expect(await check(other('engine'), [], alone)).toEqual(unknownUntil('docker is running'));
  const mute = fakeHost([[/synchronizers/, { exitCode: 2, stderr: 'sh: out of memory' }]], { name: 'rpc-1' });
  expect(await check(mute, [], alone)).toEqual(drift('what runs there cannot be seen: sh: out of memory'));
  expect(await check(databaseWith([], 'container twin running'), [], alone)).toEqual(
    drift('the container twin is running'),
  );
  expect(hint).toMatch(
    /^stop that synchronizer for good, .*: two synchronizers on one state database corrupt it\. /,
  );
});

test('a deletion whose client was killed keeps a synchronizer from starting, and another deletion', async () => {
  const context = await contextOf({});
  for (const condition of [noOtherSynchronizer(context), noSynchronizer(context)]) {
    const seen = await condition.check(databaseWith([], '', ['4711']), [], alone);
    expect(seen).toMatchObject({ note: 'a rewind still deletes in the state database (pid 4711)' });
    expect(refusalOf(seen)?.hint).toBe(
      'wait until it has ended, or end it, and nothing is deleted: docker exec state-db psql -U state_user -d state_db -c "select pg_terminate_backend(4711)"',
    );
    expect(await condition.check(databaseWith([]), [], alone)).toEqual(ok);
  }
});

test.each([
  undefined,
  { raw: null },
  { raw: 5 },
  { raw: { NetworkSettings: null } },
  { raw: { NetworkSettings: { Networks: { a: null, b: 5, c: { IPAddress: 5 } } } } },
])('no container, or a document of another form, has no network: %j', async (server) => {
  const host = fakeHost([], {
    container: async () => server && { ...runningContainer, ...server },
    sql: async () => ({ ok: true, rows: [['172.18.0.2', 't', 'f']] }),
  });
  const { check } = noForeignSynchronizer(await contextOf({}));
  expect(await check(host)).toEqual(drift(stranger('172.18.0.2')));
});

test('for a change of the database itself our own synchronizer may not run, either', async () => {
  const { check } = noSynchronizer(await contextOf({}));
  const database = (own: string, others: string, isRunning: boolean) =>
    fakeHost(
      [
        [/synchronizers sync own/, others],
        [/synchronizers sync ''/, own],
      ],
      {
        name: 'db-1',
        container: async () => ({ ...runningContainer, ...container, running: isRunning }),
        sql: async () => ({ ok: true, rows: [] }),
      },
    );
  const sync = 'container sync running';
  expect(await check(database('', '', false), [], alone)).toEqual(ok);
  expect(await check(database(sync, '', true), [], alone)).toEqual(unknownUntil('sync is stopped'));
  const twin = 'container twin running';
  expect(await check(database(twin, twin, true), [], alone)).toEqual(drift('the container twin is running'));
  // What a killed run has begun goes on.
  expect(await check(database('start 78', '', false), [], alone)).toEqual(
    drift('the process 78 is about to start the container sync'),
  );
  const other = fakeHost([[/synchronizers sync ''/, sync]], { name: 'rpc-1' });
  expect(await check(other, [], alone)).toEqual(drift('the container sync is running'));
});

test('a synchronizer on a replica is awaited in a switch to a host alone', async () => {
  const context = await contextOf({
    hosts: (all) => all.map((host) => (host.name === 'rpc-1' ? { ...host, groups: ['replica'] } : host)),
  });
  const replica = fakeHost([[/synchronizers/, 'container sync running']], { name: 'rpc-1' });
  const seen = (to: string) => noOtherSynchronizer({ ...context, given: { to } }).check(replica, [], alone);
  expect(await seen('db-1')).toEqual(unknownUntil('the former server has ended'));
  expect(await seen('1234')).toEqual(drift('the container sync is running'));
});
