import { expect, test } from 'vitest';
import type { Session } from '../host/session.ts';
import { endOf } from './host-end.ts';
import { HostRun } from './host-run.ts';

const step = { host: 'h', play: 'p', role: 'r', resource: 'file /etc/a' };

test.each([
  ['a failed task', 'failed', true, undefined, 'r failed'],
  ['an interrupt', undefined, true, undefined, 'interrupted'],
  ['the operator', undefined, false, undefined, 'you ended the run here'],
  ['another host', undefined, false, undefined, 'play "a" was skipped'],
  ['an error of the run', undefined, false, new Error('stale'), undefined],
] as const)('how a run ended: %s', (_, outcome, interrupted, failure, why) => {
  const host = new HostRun('h', {} as Session, () => {});
  if (outcome) host.done(step, outcome);
  if (why) host.stop('p', why);
  const endings = { 'an interrupt': 'interrupted', 'the operator': 'stopped' } as Record<string, string>;
  expect(endOf(host, interrupted, failure).ended).toBe(endings[_] ?? 'failed');
});
