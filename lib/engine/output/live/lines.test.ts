import fc from 'fast-check';
import stringWidth from 'fast-string-width';
import { expect, test } from 'vitest';
import { liveLines, type Picture } from './lines.ts';
import type { RunningTask } from './running-tasks.ts';

const paint = (_: unknown, text: string) => text;
const noPace = { perSecond: undefined, secondsLeft: undefined };
const busyOn = (host: string, more: Partial<RunningTask> = {}): RunningTask => ({
  host,
  task: 'docker: file /etc/docker/daemon.json',
  seconds: 7,
  progress: undefined,
  pace: noPace,
  tasksDone: 12,
  tasks: 61,
  ...more,
});
const downloading = (host: string): RunningTask =>
  busyOn(host, {
    task: 'snapshot: /data/state.tar.gz is downloaded',
    progress: { what: 'downloading state.tar.gz', done: 3 * 2 ** 30, total: 12 * 2 ** 30, unit: 'bytes' },
    pace: { perSecond: 12 * 2 ** 20, secondsLeft: 768 },
  });
const pictureOf = (busy: readonly RunningTask[], more: Partial<Picture> = {}): Picture => ({
  phase: 'changing',
  stopping: false,
  counts: { hosts: 50, done: 3, failed: 2, unreachable: 1, awaited: [] },
  busy,
  seconds: 200,
  ...more,
});
const linesIn = (columns: number, rows: number, picture: Picture) =>
  liveLines(picture, { columns, rows }, paint);
const many = (count: number) => Array.from({ length: count }, (_, i) => busyOn(`rpc-${i}`, { seconds: i }));

test('each busy host has a line, and a second one if its work can be measured', () => {
  expect(linesIn(100, 24, pictureOf([downloading('db-1'), busyOn('rpc-1')]))).toEqual([
    'db-1   0:07  12/61  snapshot: /data/state.tar.gz is downloaded',
    '    [#######.....................]  25%  3.0 GiB of 12.0 GiB  12.0 MiB/s  12 min 48 s left',
    'rpc-1  0:07  12/61  docker: file /etc/docker/daemon.json',
    '3 of 50 hosts done, 2 busy, 42 waiting, 2 failed, 1 unreachable  3:20',
  ]);
});

test('in less room a line shows less: size first, then pace, then the time left', () => {
  const below = (columns: number) => linesIn(columns, 24, pictureOf([downloading('db-1')]))[1];
  expect(below(80)).toBe('    [##........]  25%  3.0 GiB of 12.0 GiB  12.0 MiB/s  12 min 48 s left');
  expect(below(110)).toBe(
    '    [####..............]  25%  3.0 GiB of 12.0 GiB  12.0 MiB/s  12 min 48 s left  downloading state.tar.gz',
  );
  expect(below(60)).toBe('    [####..............]  25%  12.0 MiB/s  12 min 48 s left');
  expect(below(40)).toBe('  25%  12.0 MiB/s  12 min 48 s left');
  expect(below(24)).toBe('  25%  12 min 48 s left');
  expect(below(20)).toBe('  25%');
  expect(linesIn(20, 24, pictureOf([busyOn('rpc-1')]))).toEqual(['rpc-1 0:07 docker:…', '3/50  3:20']);
});

test('if not all hosts fit, those with measurable work are shown first, then the longest running', () => {
  const lines = linesIn(80, 24, pictureOf([...many(48), downloading('db-1')]));
  expect(lines).toHaveLength(8);
  expect(lines[0]).toMatch(/^db-1 {4}0:07 {2}12\/61 {2}snapshot/);
  expect(lines[1]).toMatch(/^ {4}\[##\.+\] {2}25% .* left$/);
  expect(lines[2]).toMatch(/^rpc-47 {2}0:47/);
  expect(lines[5]).toMatch(/^rpc-44/);
  expect(lines.slice(6)).toEqual([
    '… and 44 more',
    '3 of 50 hosts done, 49 busy, 2 failed, 1 unreachable  3:20',
  ]);
});

test('during checks the awaited hosts are named, and otherwise nothing is shown', () => {
  const counts = { hosts: 4, done: 0, failed: 0, unreachable: 1, awaited: ['rpc-1', 'rpc-2'] };
  expect(linesIn(80, 24, pictureOf([], { phase: 'looking', counts }))).toEqual([
    'checked 1 of 4 hosts, 1 unreachable  3:20  waiting for rpc-1, rpc-2',
  ]);
  expect(linesIn(80, 24, pictureOf([], { phase: 'quiet' }))).toEqual([]);
});

test('a wait for the lock of another run names the host and the holder', () => {
  const lock = { host: 'db-1', holder: 'eve@ci (process 7), which runs deploy on mainnet since 10:00' };
  expect(linesIn(120, 24, pictureOf([], { phase: 'waiting', lock }))).toEqual([
    '3:20  waiting for the lock of db-1: eve@ci (process 7), which runs deploy on mainnet since 10:00 has it',
  ]);
  const narrow = linesIn(40, 24, pictureOf([], { phase: 'waiting', lock, stopping: true }));
  expect(narrow).toEqual(['stopping: 3:20  waiting for the lock o…']);
});

test('after an interrupt the display says that the run stops', () => {
  expect(linesIn(80, 24, pictureOf([busyOn('a')], { stopping: true })).at(-1)).toMatch(/^stopping: 3 of 50/);
});

test('no line is wider than the terminal, and all lines leave room for scrolling output', () => {
  const busy = fc.array(
    fc.record({
      host: fc.string({ unit: fc.constantFrom('a', '-', '数', '🚀', 'é'), minLength: 1, maxLength: 30 }),
      task: fc.string({ unit: fc.constantFrom('a', ' ', '库', '🚀'), maxLength: 90 }),
      progress: fc.option(
        fc.record({
          what: fc.string({ unit: fc.constantFrom('w', '进'), maxLength: 40 }),
          done: fc.nat(),
          total: fc.nat(),
        }),
        { nil: undefined },
      ),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(
      busy,
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 2, max: 60 }),
      (hosts, columns, rows) => {
        const lines = linesIn(
          columns,
          rows,
          pictureOf(hosts.map((each) => busyOn(each.host, each as Partial<RunningTask>))),
        );
        expect(lines.length).toBeLessThanOrEqual(Math.max(3, rows / 3));
        expect(lines.length).toBeLessThan(rows);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(Math.max(1, columns - 1));
      },
    ),
  );
});
