import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { logIsReplayed } from './replayed.ts';

const answers = (...row: readonly string[]) => fakeHost([], { sql: async () => ({ ok: true, rows: [row] }) });

test('a server that replays its log has not recovered', async () => {
  const ended = logIsReplayed((await contextOf({})).vars);
  expect(describeVerdict(await ended.check(answers('t')))).toBe('it is replaying the write-ahead log');
  expect(await ended.check(answers('f'))).toEqual(ok);
  expect(describeVerdict(await ended.check(fakeHost([])))).toBe('unknown until state-db answers SQL');
});
