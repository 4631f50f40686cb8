import { expect, test } from 'vitest';
import type { Outcome, RunEvent } from '../run/events.ts';
import type { Style } from './lines.ts';
import { plainOutput } from './plain.ts';
import { plainStyle } from './testing/plain-style.ts';

const done = (host: string, resource: string, outcome: Outcome, note?: string): RunEvent => ({
  type: 'resource-done',
  task: { host, play: 'p', role: 'preflight', resource },
  outcome,
  differences: [],
  note,
  error: undefined,
  seconds: host === 'db-1' ? 0.3 : 0,
  commands: [],
});
const warning = (host: string, resource = 'server has 64 CPU cores', note = 'it has 8') =>
  done(host, resource, 'warning', note);
const started = (...hosts: string[]): RunEvent => ({
  type: 'run-started',
  playbook: 'deploy',
  inventory: 'lab',
  check: false,
  hosts,
});
const play: RunEvent = { type: 'play-started', play: 'next', hosts: ['rpc-1'] };
const finished: RunEvent = { type: 'run-finished', hosts: [], seconds: 1, interrupted: false };

function said(events: readonly RunEvent[], style: Partial<Style> = {}, asks = false): string[] {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const listen = plainOutput(write, { ...plainStyle, ...style }, asks);
  for (const event of [...events, finished]) listen(event);
  return text.split('\n').slice(0, -1);
}

test('the same warning of several hosts is one line with their names, in the order of the inventory', () => {
  const events = [
    started('db-1', 'rpc-1', 'rpc-2'),
    warning('rpc-2'),
    warning('db-1'),
    warning('rpc-1'),
    play,
  ];
  expect(said(events).slice(1)).toEqual([
    'db-1, rpc-1, rpc-2  warning preflight: server has 64 CPU cores  (it has 8)',
    '',
    'play: next  rpc-1',
  ]);
  expect(said(events, { quiet: true })).toEqual([
    'db-1, rpc-1, rpc-2  warning preflight: server has 64 CPU cores  (it has 8)',
  ]);
});

test('for many hosts only some are named', () => {
  const hosts = Array.from({ length: 20 }, (_, i) => `h${i + 1}`);
  expect(said([started(...hosts), ...hosts.map((host) => warning(host))], { quiet: true })).toEqual([
    'h1, h2, h3, h4, h5, h6, h7 and 13 more  warning preflight: server has 64 CPU cores  (it has 8)',
  ]);
});

test('different warnings are reported for each host', () => {
  const events = [
    warning('rpc-1'),
    warning('rpc-2', 'server has 64 CPU cores', 'it has 9'),
    warning('db-1', 'memory'),
  ];
  expect(said(events)).toEqual([
    'rpc-1  warning preflight: server has 64 CPU cores  (it has 8)',
    'rpc-2  warning preflight: server has 64 CPU cores  (it has 9)',
    'db-1   warning preflight: memory  (it has 8)',
  ]);
});

test('a warning waits for tasks under way, and is printed before the next change or failure', () => {
  const change: RunEvent = {
    type: 'resource-started',
    task: { host: 'rpc-1', play: 'p', role: 'r', resource: 'a' },
  };
  const both = 'rpc-1, rpc-2  warning preflight: server has 64 CPU cores  (it has 8)';
  expect(said([warning('rpc-1'), done('rpc-1', 'a', 'changed'), warning('rpc-2')])).toEqual([
    'rpc-1  changed preflight: a',
    both,
  ]);
  expect(said([warning('rpc-1'), warning('rpc-2'), change, done('rpc-1', 'a', 'changed')])).toEqual([
    both,
    'rpc-1  changed preflight: a',
  ]);
  expect(said([warning('rpc-1'), warning('rpc-2'), done('rpc-1', 'a', 'failed')])).toEqual([
    both,
    'rpc-1  failed  preflight: a',
  ]);
});

test('with --verbose or --step every host reports its warnings at once', () => {
  const events = [warning('rpc-1'), done('rpc-1', 'a', 'changed'), warning('rpc-2')];
  const each = [
    'rpc-1  warning preflight: server has 64 CPU cores  (it has 8)',
    'rpc-1  changed preflight: a',
    'rpc-2  warning preflight: server has 64 CPU cores  (it has 8)',
  ];
  expect(said(events, { verbose: true })).toEqual(each);
  expect(said(events, {}, true)).toEqual(each);
});
