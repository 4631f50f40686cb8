import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { type Answer, alone, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { formerServerEnds, formerServerIsReplica } from './former-server.ts';

process.env.REPLICA_PASSWORD = 'replica.Pw~5';

const deployment = {
  group: 'replica',
  changes: [
    [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
    [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
  ],
} as const;

async function resources() {
  const context = await contextOf(deployment);
  const [ended, retired] = [formerServerEnds(context), formerServerIsReplica(context)];
  if (!ended.everyHost) throw new Error('an end has a condition');
  return { ended, retired, close: ended.everyHost };
}

/** A host whose data directory is as the script shows it. */
const withData = (shown: Answer, containers: readonly string[] = []) =>
  fakeHost([[/server-state/, shown]], {
    container: async (name) => (containers.includes(name) ? runningContainer : undefined),
  });

test('a primary ends what writes, the synchronizer first, and then becomes a replica', async () => {
  const { ended, retired } = await resources();
  const former = withData('primary 6 100', ['sync', 'prover', 'state-db']);
  const seen = await ended.check(former);
  expect(describeVerdict(seen)).toBe('sync, prover are there');
  const steps = seen.is === 'drift' && Array.isArray(seen.change) ? seen.change : [];
  expect(steps.map((step) => step.do === 'run' && step.command)).toEqual([
    'docker stop --time 120 sync',
    'docker stop --time 120 prover',
    'docker rm sync prover',
  ]);
  expect(describeVerdict(await retired.check(former))).toBe('its state-db may accept writes');
});

test.each(['standby 5 100', 'none'])(
  'nothing is stopped on a host whose data directory is %s',
  async (shown) => {
    const { ended, retired } = await resources();
    const host = withData(shown, ['prover', 'state-db']);
    expect([await ended.check(host), await retired.check(host)]).toEqual([ok, ok]);
  },
);

test.each([
  ['t', '1000', '10.0.0.31', 'ok'],
  ['t', String(2 ** 25), '10.0.0.31', 'it has 32.0 MiB to replay'],
  ['t', null, '10.0.0.31', 'it receives nothing from the former server'],
  ['t', '1000', '10.9.9.9', 'it follows 10.9.9.9, and the inventory has no such address of replica-1'],
  ['f', null, null, 'it accepts writes, and so does the former server'],
])(
  'in recovery: %s, bytes behind: %s, follows %s: the new server is judged before anything stops',
  async (follows, behind, source, words) => {
    const { close } = await resources();
    const former = withData('primary 6 100', ['state-db']);
    const reach = (name: string) => (name === 'replica-1' ? former : undefined);
    const host = fakeHost([], {
      name: 'db-1',
      sql: async () => ({ ok: true, rows: [[follows, behind, source]] }),
    });
    const seen = await close.check(host, [], reach);
    expect(seen.is === 'ok' ? 'ok' : describeVerdict(seen)).toBe(words);
    expect(await close.check(fakeHost([], { name: 'rpc-1' }), [], reach)).toEqual(ok);
  },
);

test('a former server that has ended sends nothing, and becomes a replica; never beside a server that accepts writes', async () => {
  const { retired, close } = await resources();
  const reach = () => withData('primary 1 100');
  const says = (follows: string) =>
    fakeHost([], { name: 'db-1', sql: async () => ({ ok: true, rows: [[follows, null]] }) });
  expect(await close.check(says('t'), [], reach)).toEqual(ok);
  expect(describeVerdict(await close.check(says('f'), [], reach))).toBe(
    'it accepts writes, and so does the former server',
  );
  expect(describeVerdict((await retired.everyHost?.check(says('f'), [], reach)) ?? ok)).toBe(
    'it accepts writes, and so does the former server',
  );
  // By then the synchronizer is removed.
  expect(close.hint).toContain('this run stopped nothing');
  expect(retired.everyHost?.hint).toContain('state-db of the former server still accepts writes');
});

test('a new server without an answer stops nothing', async () => {
  const { close } = await resources();
  const seen = await close.check(fakeHost([], { name: 'db-1' }), [], alone);
  expect(describeVerdict(seen)).toBe('its state-db does not answer: no answer');
});
