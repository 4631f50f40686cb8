import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { judgeReplica, readReplica } from './replica.ts';

const state = { follows: true, receives: true, bytesBehind: 0, secondsBehind: 0, cancelled: 0 };
const says = (differs: Partial<typeof state>) =>
  judgeReplica({ ok: true, value: { ...state, ...differs } }).map(({ fault, says: words }) => [fault, words]);

test('what the database says of a replica', async () => {
  const { vars } = await contextOf({});
  const host = fakeHost([], { sql: async () => ({ ok: true, rows: [['1', '0', '4096', '1.25', '3']] }) });
  expect(await readReplica(host, vars)).toEqual({
    ok: true,
    value: { follows: true, receives: false, bytesBehind: 4096, secondsBehind: 1.25, cancelled: 3 },
  });
  expect(await readReplica(fakeHost([]), vars)).toMatchObject({ ok: false });
});

test('a replica that does not follow is a fault, a cancelled query is a note', () => {
  expect(says({})).toEqual([]);
  expect(says({ receives: false })).toEqual([
    [true, 'state-db: receives nothing from the database server: see docker logs state-db'],
  ]);
  expect(says({ follows: false, receives: false })).toEqual([
    [true, 'state-db: follows no server, and accepts writes'],
  ]);
  expect(says({ cancelled: 1 })).toEqual([
    [false, 'state-db: 1 query was cancelled: what it read was cleaned up'],
  ]);
  expect(judgeReplica({ ok: false, error: 'no answer' })).toEqual([]);
});
