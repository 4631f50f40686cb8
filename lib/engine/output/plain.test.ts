import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RunEvent } from '../run/events.ts';
import { plainOutput } from './plain.ts';
import { plainStyle } from './testing/plain-style.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const style = { ...plainStyle, quiet: true };
const task = { host: 'db-1', play: 'p', role: 'snapshot', resource: 'state.tar.gz is downloaded' };
const finished: RunEvent = { type: 'run-finished', hosts: [], seconds: 1, interrupted: false };

test('long work is reported every half minute with the name of its host, until the run ends', () => {
  const said: string[] = [];
  const listen = plainOutput((text) => void said.push(text), style);
  listen({ type: 'resource-started', task });
  vi.advanceTimersByTime(29_900);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(said).toEqual(['db-1   … snapshot: state.tar.gz is downloaded (30 s)\n']);
  const progress = { what: 'downloading state.tar.gz', total: 2 ** 30, unit: 'bytes' } as const;
  listen({ type: 'progress', task, progress: { ...progress, done: 0 } });
  vi.advanceTimersByTime(20_000);
  listen({ type: 'progress', task, progress: { ...progress, done: 200 * 2 ** 20 } });
  vi.advanceTimersByTime(10_000);
  expect(said[1]).toBe(
    'db-1   … snapshot: state.tar.gz is downloaded (60 s) downloading state.tar.gz 200.0 MiB of 1.0 GiB (19%), 10.0 MiB/s, 72 s left\n',
  );
  listen(finished);
  const before = said.length;
  vi.advanceTimersByTime(300_000);
  expect(said).toHaveLength(before);
});

test('without running work nothing is printed', () => {
  const said: string[] = [];
  const listen = plainOutput((text) => void said.push(text), style);
  vi.advanceTimersByTime(300_000);
  listen(finished);
  expect(said.join('')).not.toContain('…');
});
