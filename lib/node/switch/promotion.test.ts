import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { acceptsWrites, receivedIsReplayed } from './promotion.ts';

process.env.REPLICA_PASSWORD = 'replica.Pw~5';

const address = '10.0.0.31';

const given = {
  changes: [
    [['groups', 'replica'], { former: { address } }],
    [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
  ],
} as const;

async function promotion(changes: Changes = []) {
  const context = await contextOf({ changes: [...given.changes, ...changes] });
  const [replayed, resource] = [receivedIsReplayed(context), acceptsWrites(context)];
  if (!resource.everyHost) throw new Error('a promotion has a condition');
  return { replayed, resource, condition: resource.everyHost };
}

const rows = (...row: readonly (string | null)[]) => ({
  sql: async () => ({ ok: true as const, rows: [row] }),
});

/** The server that is promoted: it has replayed 5000 bytes, up to block 40. */
const standby = (source: string | null = address) =>
  fakeHost([], { ...rows('t', source, '5000', '5000', '40', 'f'), name: 'db-1' });

/** The server that is promoted, for the condition on other hosts. */
const reach = (name: string) => (name === 'db-1' ? standby() : undefined);

/** The condition as another host meets it. */
async function judged(
  name: string,
  shown: Answer,
  running = false,
  row: readonly (string | null)[] = [],
  unseen: readonly string[] = [],
) {
  const { condition } = await promotion();
  const container = async () => (running ? runningContainer : undefined);
  const more = row.length > 0 ? rows(...row) : {};
  const host = fakeHost(
    [
      [/server-state/, shown],
      [/synchronizers/, ''],
    ],
    { name, container, ...more },
  );
  const seen = await condition.check(host, unseen, reach);
  return seen.is === 'ok' ? 'ok' : describeVerdict(seen);
}

test('a standby of a host of the inventory is promoted, one that accepts writes is as it should be', async () => {
  const { resource } = await promotion();
  const seen = await resource.check(standby());
  expect(describeVerdict(seen)).toBe('it follows former');
  expect(JSON.stringify(seen)).toContain('select pg_promote(true, 60)');
  expect(await resource.check(fakeHost([], rows('f', null, null, null, '40')))).toEqual(ok);
  expect(describeVerdict(await resource.check(fakeHost([])))).toBe('unknown until state-db answers SQL');
});

test('a standby of an unknown server is refused', async () => {
  const { resource } = await promotion();
  expect(describeVerdict(await resource.check(standby('10.9.9.9')))).toBe(
    'it follows 10.9.9.9, which is no host of the inventory',
  );
  // A former server that became a replica, and never followed one.
  expect(describeVerdict(await resource.check(standby(null)))).toBe('it follows no server');
});

test.each<[string, Answer, string]>([
  ['former', 'standby 1 4900', 'ok'],
  ['former', 'primary 6 4900', 'unknown until the former server is a replica'],
  ['former', 'standby 6 4900', 'its state-db did not end cleanly'],
  ['former', 'standby 1 5100', 'it has log up to 5100, and the new server has replayed 5000'],
  [
    'former',
    'none',
    'it has no data directory of state-db any more. If its data is lost, shut it down, and name it by --assume-stopped',
  ],
  ['rpc-1', 'none', 'ok'],
  ['rpc-1', 'standby 2 9000', 'ok'],
  ['rpc-1', 'primary 1 4000', 'its state-db may accept writes'],
  [
    'rpc-1',
    { exitCode: 1, stderr: 'pg_control of version 9 is unknown' },
    'pg_control of version 9 is unknown',
  ],
])('%s has the data directory %j, and its state-db does not run: %s', async (name, shown, words) => {
  expect(await judged(name, shown)).toBe(words);
});

test.each([
  ['4900', '39', 'ok'],
  ['6000', '43', 'it has 3 blocks more'],
  ['5100', '40', 'it has 100 bytes of log more'],
])('a running replica with %s bytes of log, up to block %s: %s', async (has, block, words) => {
  expect(await judged('rpc-1', 'standby 5 4000', true, ['t', address, has, has, block])).toBe(words);
});

test('without the former server, a replica that does not run may have more', async () => {
  expect(await judged('rpc-1', 'standby 2 4000', false, [], ['former'])).toBe(
    'its state-db does not run, and may have more log: start it',
  );
});

test('each host is judged by the data in its own folder', async () => {
  const { condition } = await promotion([
    [['groups', 'replica', 'former', 'vars'], { paths: { data: '/mnt/nvme' } }],
    [['groups', 'rpc', 'rpc-1', 'vars'], { paths: { data: '/mnt/other' } }],
  ]);
  const judgedIn = async (name: string, folder: string, shown: string) => {
    const host = fakeHost(
      [
        [new RegExp(`server-state ${folder}/state-db$`), shown],
        [/server-state/, 'none'],
        [/synchronizers/, ''],
      ],
      { name },
    );
    return describeVerdict(await condition.check(host, [], reach));
  };
  expect(await judgedIn('former', '/mnt/nvme', 'standby 1 5100')).toBe(
    'it has log up to 5100, and the new server has replayed 5000',
  );
  expect(await judgedIn('rpc-1', '/mnt/other', 'primary 1 4000')).toBe('its state-db may accept writes');
});

test('a server that is assumed to be stopped, and still sends log, runs', async () => {
  const words = 'it still receives log from former, which runs';
  const row = ['t', address, '5000', '5000', '40', 't'];
  expect(await judged('rpc-1', 'standby 5 4000', true, row, ['former'])).toBe(words);
  expect(await judged('rpc-1', 'standby 5 4000', true, row)).toBe('ok');
  const { condition } = await promotion();
  const own = (receives: string, unseen: readonly string[]) => {
    const more = { ...rows('t', address, '5000', '5000', '40', receives), name: 'db-1' };
    const host = fakeHost([[/synchronizers/, '']], more);
    return condition.check(host, unseen, () => host);
  };
  expect(describeVerdict(await own('t', ['former']))).toBe(words);
  expect(await own('f', ['former'])).toEqual(ok);
  expect(await own('t', [])).toEqual(ok);
});

test('what was received is replayed before', async () => {
  const { replayed } = await promotion();
  const at = (follows: string, done: string) => fakeHost([], rows(follows, address, '5000', done, '40', 'f'));
  expect(describeVerdict(await replayed.check(at('t', '4000')))).toBe('1000 bytes are left');
  expect(await replayed.check(at('t', '5000'))).toEqual(ok);
  expect(await replayed.check(at('f', '0'))).toEqual(ok);
  expect(describeVerdict(await replayed.check(fakeHost([])))).toBe('unknown until state-db answers SQL');
});

test('a running replica has to answer', async () => {
  expect(await judged('rpc-1', 'standby 5 4000', true)).toBe('its state-db does not answer: no answer');
});

test('a synchronizer on the former server is awaited, and one elsewhere refused', async () => {
  const { condition } = await promotion();
  const on = async (name: string) =>
    describeVerdict(
      await condition.check(fakeHost([[/synchronizers/, 'container sync running\n']], { name }), [], reach),
    );
  expect(await on('former')).toBe('unknown until the former server has ended');
  expect(await on('rpc-1')).toBe('the container sync is running');
});

test('nothing is compared with a server that does not answer', async () => {
  const { condition } = await promotion();
  const words = 'unknown until state-db of db-1 answers SQL';
  for (const target of [undefined, fakeHost([])]) {
    const running = fakeHost([[/synchronizers/, 'container sync running\n']], { name: 'rpc-1' });
    expect(describeVerdict(await condition.check(running, [], () => target))).toBe(words);
  }
});
