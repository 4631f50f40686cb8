import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../lib/engine/resource/resource.ts';
import { fakeHost } from '../lib/engine/resource/testing/fake-host.ts';
import { contextOf } from '../lib/node/testing/role-context.ts';
import stateDb from './state-db.ts';

async function resourceOf(name: string, given: Readonly<Record<string, string>>) {
  return (await stateDb.resources({ ...(await contextOf({})), given })).find((each) => each.name === name);
}

const answers = (...row: readonly string[]) => fakeHost([], { sql: async () => ({ ok: true, rows: [row] }) });

test('a server that replays its log has not recovered', async () => {
  const ended = await resourceOf('the database server has recovered', { 'to-time': 'latest' });
  if (!ended) throw new Error('a recovery waits for its end');
  expect(describeVerdict(await ended.check(answers('t')))).toBe('it is replaying the write-ahead log');
  expect(await ended.check(answers('f'))).toEqual(ok);
  expect(describeVerdict(await ended.check(fakeHost([])))).toBe('unknown until state-db answers SQL');
});
