import { expect, test } from 'vitest';
import { Problem, Problems } from '../problem/problem.ts';
import type { HostSummary, RunEvent } from '../run/events.ts';
import { exitCodeOf } from '../run/run-options.ts';
import { Secret } from '../secret/secret.ts';
import { describeError } from './describe-error.ts';
import { linesOf, summaryLines } from './lines.ts';
import { RunningTasks, runningTaskText } from './live/running-tasks.ts';
import { plainOutput } from './plain.ts';
import { plainStyle } from './testing/plain-style.ts';

const task = { host: 'rpc-1', play: 'p', role: 'docker', resource: 'file /etc/docker/daemon.json' };
const done = (details: object): RunEvent => ({
  type: 'resource-done',
  task,
  outcome: 'changed',
  differences: [],
  note: undefined,
  error: undefined,
  seconds: 0,
  commands: [],
  ...details,
});

test('every line of a host starts with its name, also its diff', () => {
  const lines = linesOf(done({ differences: [{ what: 'mode', was: '0644', wanted: '0600' }] }), plainStyle);
  expect(lines[0]).toBe('rpc-1  changed docker: file /etc/docker/daemon.json');
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(line).toMatch(/^rpc-1/);
});

test('unchanged tasks are shown only on request', () => {
  expect(linesOf(done({ outcome: 'ok' }), plainStyle)).toEqual([]);
  expect(linesOf(done({ outcome: 'ok' }), { ...plainStyle, verbose: true })).toHaveLength(1);
});

test('a slow check has its time with --verbose only, a change always', () => {
  const slow = (outcome: string) => done({ outcome, seconds: 10 });
  const timesOf = (verbose: boolean) =>
    ['ok', 'warning', 'pending', 'changed'].map((outcome) =>
      linesOf(slow(outcome), { ...plainStyle, verbose })[0]?.slice(-6),
    );
  expect(timesOf(true)).toEqual(Array(4).fill('  10 s'));
  expect(timesOf(false)).toEqual([undefined, 'n.json', 'n.json', '  10 s']);
});

test('no line contains a secret', () => {
  const secret = new Secret('correct-horse-battery');
  let printed = '';
  const listen = plainOutput((text) => {
    printed += text;
  }, plainStyle);
  listen(done({ note: `was ${secret.reveal()}`, error: new Error(`cannot use ${secret.reveal()}`) }));
  expect(printed).toContain('[secret]');
  expect(printed).not.toContain('correct-horse-battery');
});

test('an error shows cause and hint, no stack trace', () => {
  const error = Object.assign(new Error('no space'), { hint: 'free some' });
  expect(linesOf(done({ outcome: 'failed', error }), plainStyle).join('\n')).toMatch(
    /no space\n.*free some$/,
  );
});

test('an error that names its host does not name it twice', () => {
  const error = new Error('rpc-1: the connection was lost');
  expect(linesOf({ type: 'host-unreachable', host: 'rpc-1', error }, plainStyle)).toEqual([
    'rpc-1  unreachable: the connection was lost',
  ]);
});

test('no output of a host controls the terminal', () => {
  const evil = '\u001b]0;title\u0007\u001b[2J\r\u009b5m\u202e';
  const busy = new RunningTasks();
  const started: RunEvent = { type: 'resource-started', task: { ...task, resource: evil } };
  const progress: RunEvent = { type: 'progress', task, progress: { what: `${evil}\n` } };
  for (const event of [started, progress]) busy.follow(event);
  const said = [
    ...linesOf(
      done({
        task: { ...task, resource: evil },
        outcome: 'failed',
        note: `${evil}\n${evil}`,
        differences: [{ what: evil, was: evil, wanted: evil }],
        error: Object.assign(new Error(evil), { hint: evil }),
      }),
      plainStyle,
    ),
    ...linesOf(done({ note: evil }), plainStyle),
    ...linesOf({ type: 'host-unreachable', host: 'h', error: new Problem(evil) }, plainStyle),
    ...linesOf({ type: 'host-stopped', host: 'h', play: 'p', why: evil }, plainStyle),
    ...linesOf({ type: 'play-skipped', play: 'p', why: evil }, plainStyle),
    ...busy.list().map(runningTaskText),
  ];
  for (const line of said) expect(line).not.toMatch(/\p{Cc}|\u202e/u);
  expect(said.join('\n')).toContain('\\x1b]0;title\\x07');
});

test('of very many problems the first are shown, with the number of the others', () => {
  const problems = Array.from({ length: 150 }, (_, i) => new Problem(`problem ${i}`));
  const lines = describeError(new Problems(problems)).split('\n');
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toBe('… and 50 more');
});

test('busy hosts show elapsed time, progress and rate', () => {
  let now = 0;
  const busy = new RunningTasks(() => now);
  busy.follow({ type: 'resource-started', task });
  const progress = (value: number): RunEvent => ({
    type: 'progress',
    task,
    progress: { what: 'downloaded', done: value, total: 400, unit: 'bytes' },
  });
  busy.follow(progress(100));
  now = 2;
  busy.follow(progress(200));
  expect(busy.list().map(runningTaskText)).toEqual([
    'docker: file /etc/docker/daemon.json (2.0 s) downloaded 200 B of 400 B (50%), 50 B/s, 4 s left',
  ]);
  busy.follow(done({}));
  expect(busy.list()).toEqual([]);
});

test.each<[Partial<Omit<HostSummary, 'counts'>> & { counts?: Partial<HostSummary['counts']> }, number]>([
  [{}, 0],
  [{ counts: { changed: 3 } }, 0],
  [{ counts: { pending: 1 } }, 2],
  [{ counts: { unknown: 1 } }, 2],
  [{ counts: { failed: 1, pending: 1 } }, 1],
  [{ unreachable: true, counts: { pending: 1 } }, 4],
  [{ stopped: 'skipped' }, 1],
])('%j ends with %i', (host, code) => {
  const counts = { ok: 1, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0, ...host.counts };
  const summary = {
    host: 'h',
    seconds: 1,
    unreachable: false,
    stopped: undefined,
    roundTrips: 1,
    ...host,
    counts,
  };
  expect(exitCodeOf({ hosts: [summary], interrupted: false })).toBe(code);
  expect(exitCodeOf({ hosts: [summary], interrupted: true })).toBe(130);
});

test('check mode counts pending changes, a run counts changed tasks', () => {
  const counts = { ok: 1, changed: 0, pending: 3, unknown: 0, warning: 0, failed: 0 };
  const host = { host: 'h', seconds: 1, unreachable: false, stopped: undefined, roundTrips: 1, counts };
  expect(summaryLines([host], 1, { ...plainStyle, check: true })[1]).toMatch(/ok\s+pending\s+unknown/);
  expect(summaryLines([host], 1, plainStyle)[1]).toMatch(/ok\s+changed\s+unknown/);
});

test('secrets in the words of a host are masked before long lines are cut', () => {
  const secret = new Secret('Vb5tRe-91kQz');
  const words = `${'x'.repeat(1995)}${secret.reveal()}${'y'.repeat(100)}`;
  const shown = [
    ...linesOf(done({ note: words }), plainStyle),
    ...linesOf({ type: 'play-skipped', play: 'p', why: words }, plainStyle),
    ...linesOf({ type: 'host-stopped', host: 'rpc-1', play: 'p', why: words }, plainStyle),
    describeError(new Problem(words)),
  ].join('\n');
  expect(shown.match(/x{1995}\[sec/g)).toHaveLength(4);
  expect(shown).not.toContain('Vb5');
});

test('the stack of an error of the language is for --verbose alone, also as the cause of a problem', () => {
  const problem = new Problem('the role is wrong', { cause: new TypeError('no list') });
  expect(describeError(problem)).toBe('the role is wrong');
  expect(describeError(problem, true)).toMatch(/^the role is wrong\nTypeError: no list\n +at /);
  expect(describeError(new Problem('wrong', { cause: new Problem('inside') }), true)).toBe('wrong');
});
