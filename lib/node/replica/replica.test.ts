import { expect, test } from 'vitest';
import replica from '../../../roles/replica.ts';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { contextOf } from '../testing/role-context.ts';

process.env.REPLICA_PASSWORD = 'replica.Pw~5';

/** A resource of a replica, by the start of its name. */
async function resourceOf(name: string, given: Readonly<Record<string, string>> = {}) {
  const context = await contextOf({
    group: 'replica',
    changes: [
      [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
      [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
    ],
  });
  const found = (await replica.resources({ ...context, given })).find((each) => each.name.startsWith(name));
  if (!found) throw new Error(`there is no resource ${name}`);
  return found;
}

test('a data directory without the signal of a standby is no copy yet', async () => {
  const copied = await resourceOf('/data/state-db is a copy');
  expect(describeVerdict(await copied.check(fakeHost([])))).toBe('there is no copy yet');
  const standby = async (path: string) => (path === '/data/state-db/standby.signal' ? rootsFile : undefined);
  expect(await copied.check(fakeHost([], { stat: standby }))).toEqual(ok);
});

test('what a deploy waits for is said', async () => {
  const [started, caughtUp] = [
    await resourceOf('state-db answers'),
    await resourceOf('state-db has caught up with db-1'),
  ];
  const answers = (value: string) => fakeHost([], { sql: async () => ({ ok: true, rows: [[value]] }) });
  expect(describeVerdict(await caughtUp.check(answers('f')))).toBe(
    'it receives nothing, or replays what it received',
  );
  for (const reached of [started, caughtUp]) {
    expect(await reached.check(answers('t'))).toEqual(ok);
    const words = 'unknown until state-db has replayed the log of the copy, and answers SQL';
    expect(describeVerdict(await reached.check(fakeHost([])))).toBe(words);
  }
});

test('a connection that no wait can heal ends the wait with the words of PostgreSQL', async () => {
  const caughtUp = await resourceOf('state-db has caught up with db-1');
  // As a container of PostgreSQL 15 wrote it, whose HOME was that of root.
  const line = (time: string) =>
    `2026-11-26 ${time} UTC [1238] FATAL:  could not connect to the primary server: connection to server at "172.30.77.11", port 5432 failed: could not open certificate file "/root/.postgresql/postgresql.crt": Permission denied`;
  const log = ['19:21:28.182', '19:21:23.470', '19:21:18.200'].map(line).join('\n');
  const host = fakeHost([[/docker logs/, log]], {
    sql: async () => ({ ok: true, rows: [['f', 't']] }),
    container: async () => runningContainer,
  });
  await expect(applyDrift(host, caughtUp)).rejects.toThrow(
    'state-db cannot follow db-1: connection to server at "172.30.77.11", port 5432 failed: could not open certificate file "/root/.postgresql/postgresql.crt": Permission denied',
  );
});

// As servers of PostgreSQL 15.18 wrote it; the last as its source has it.
const ofAnotherHistory = [
  "FATAL:  could not start WAL streaming: ERROR:  requested starting point 0/8000000 on timeline 2 is not in this server's history",
  'FATAL:  could not receive data from WAL stream: ERROR:  requested starting point 0/8000000 is ahead of the WAL flush position of this server 0/6026050',
  'FATAL:  highest timeline 1 of the primary is behind recovery timeline 2',
  'FATAL:  database system identifier differs between the primary and standby',
  'LOG:  new timeline 2 forked off current database system timeline 1 before current recovery point 0/6025EA8',
  'LOG:  new timeline 3 is not a child of database system timeline 2',
];

test.each([
  ...ofAnotherHistory.map((line) => [line, 'state-db has another history than that of db-1', '']),
  [
    'FATAL:  could not receive data from WAL stream: ERROR:  requested WAL segment 000000010000000000000003 has already been removed',
    'the server does not have the log that this replica needs',
    '. backup.most_kept is the limit',
  ],
])('a replica that can never follow ends the wait: %s', async (line, words, more) => {
  const caughtUp = await resourceOf('state-db has caught up with db-1');
  const host = fakeHost(
    [[/docker logs/, `${line}\nLOG:  waiting for WAL to become available at 0/8000018`]],
    {
      sql: async () => ({ ok: true, rows: [['f', 't']] }),
      container: async () => runningContainer,
    },
  );
  await expect(applyDrift(host, caughtUp)).rejects.toMatchObject({
    message: `${words}: ${line}`,
    hint: `copy it again: docker rm -f state-db, remove /data/state-db, then deploy${more}`,
  });
});

test('before a switch the plan does not judge the former server as a replica', async () => {
  const words = 'unknown until the former server is a replica';
  const given = { to: 'db-1' };
  const server = fakeHost([[/ls -A/, 'PG_VERSION']], {
    sql: async () => ({ ok: true, rows: [['f', 'f']] }),
    stat: async (path) => (path.endsWith('PG_VERSION') ? rootsFile : undefined),
  });
  for (const name of ['no other data is in', '/data/state-db is a copy', 'state-db has caught up with db-1'])
    expect(describeVerdict(await (await resourceOf(name, given)).check(server)), name).toBe(words);
  expect(describeVerdict(await (await resourceOf('no other data is in')).check(server))).toBe(
    'it holds data that is not of a replica',
  );
});
