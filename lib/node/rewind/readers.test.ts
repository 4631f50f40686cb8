import { expect, test } from 'vitest';
import { describeVerdict, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { rolling } from '../gateway/drain.ts';
import { type Diverged, divergedHost } from '../testing/diverged-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { jsonRpcIsRewound, replicaIsRewound } from './readers.ts';

const rewound = 1_764_151_200;
const before = new Date((rewound - 60) * 1000).toISOString();
const after = new Date((rewound + 60) * 1000).toISOString();
const untilRewound = unknownUntil('the state database is rewound');

async function rpcServer() {
  const context = await contextOf({ group: 'rpc' });
  const [reads, restarted, , serves] = await jsonRpcIsRewound(context);
  if (!reads || !restarted || !serves) throw new Error('an RPC server has four parts');
  return { reads, restarted, serves };
}

const onRpc = (given: Diverged) => divergedHost({ name: 'rpc-1', ...given });

test('a json-rpc from before the rewind is restarted, in its turn behind gateways', async () => {
  const { restarted } = await rpcServer();
  const { host, ran } = onRpc({ rewound, started: before });
  expect(describeVerdict(await restarted.check(host))).toBe(
    `json-rpc: started ${before} -> started after the rewind`,
  );
  await applyDrift(host, restarted);
  expect(ran).toEqual(['docker restart --time 120 json-rpc']);
  expect(restarted.changes?.([]).some((effect) => rolling.turns.disturbs(effect))).toBe(true);
  expect(await restarted.check(onRpc({ rewound, started: after }).host)).toEqual(ok);
  expect(await restarted.check(onRpc({}).host)).toEqual(ok);
});

test('the clocks of the RPC server and of the state database may differ', async () => {
  const { restarted } = await rpcServer();
  for (const ahead of [600, -600]) {
    const clock = (seconds: number) => new Date((rewound + ahead + seconds) * 1000).toISOString();
    const check = (started: string) => restarted.check(onRpc({ rewound, ahead, started }).host);
    expect(await check(clock(-60))).toMatchObject({ is: 'drift' });
    expect(await check(clock(60))).toEqual(ok);
  }
});

test('before the rewind nobody knows whether it will have to be', async () => {
  const { reads, restarted, serves } = await rpcServer();
  for (const resource of [reads, restarted, serves]) {
    expect(await resource.check(onRpc({ parts: 10 }).host)).toEqual(untilRewound);
    // One of an earlier divergence.
    expect(await resource.check(onRpc({ parts: 10, rewound, started: after }).host)).toEqual(untilRewound);
    // It starts with what the state database has then.
    expect(await resource.check(onRpc({ parts: 10, isRunning: false }).host)).toEqual(ok);
  }
});

test('a state database that does not answer is named', async () => {
  const { restarted } = await rpcServer();
  expect(describeVerdict(await restarted.check(onRpc({ without: 'state-db' }).host))).toBe(
    'unknown until its state database answers: state-db of db-1: connection refused',
  );
});

test('a replica has the rewind when its newest block is a right one', async () => {
  const replica = replicaIsRewound(await contextOf({}));
  expect(await replica.check(divergedHost({ parts: 10 }).host)).toEqual(untilRewound);
  expect(await replica.check(divergedHost({}).host)).toEqual(ok);
});
