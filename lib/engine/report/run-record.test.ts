import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import type { RunEvent } from '../run/events.ts';
import { type RunRecordOptions, runRecord } from './run-record.ts';

const start = Date.UTC(2024, 10, 21, 16, 42, 35, 120);
const task = { host: 'db-1', play: 'a', role: 'snapshot', resource: 'restored' };
const started: RunEvent = {
  type: 'run-started',
  playbook: 'deploy',
  inventory: 'lab',
  check: false,
  hosts: ['db-1'],
};
const stopping: RunEvent = { type: 'stopping' };

/** Gives the descriptor with which this process has a file open to another file. */
function replaceOpen(path: string, other: string): void {
  const isOpen = (name: string) =>
    existsSync(`/proc/self/fd/${name}`) && readlinkSync(`/proc/self/fd/${name}`) === path;
  const descriptor = Number(readdirSync('/proc/self/fd').find(isOpen));
  closeSync(descriptor);
  // The lowest free number is given first.
  const opened = [openSync(other, 'a')];
  while (opened.at(-1) !== descriptor) opened.push(openSync(other, 'a'));
  for (const one of opened.slice(0, -1)) closeSync(one);
}

/** A record in a directory that does not exist yet, with a clock that the test sets. */
function record(options: Partial<Omit<RunRecordOptions, 'now' | 'complain'>> = {}) {
  const folder = options.folder ?? join(temporaryDirectory(), '.runs');
  const complaints: string[] = [];
  const clock = { at: start };
  const made = runRecord({
    inventory: 'lab',
    check: false,
    ...options,
    folder,
    now: () => clock.at,
    complain: (line) => complaints.push(line),
  });
  return { ...made, emit: made.listener, made, folder, complaints, clock };
}

test('events are on disk line by line, in a file of mode 0600 that the first event creates', () => {
  const { emit, made, folder, clock, complaints } = record();
  expect(made.path).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
  emit(started);
  const path = join(folder, '20241121T164235Z-lab.ndjson');
  expect(made.path).toBe(path);
  expect(readFileSync(path, 'utf8')).toMatch(
    /^\{"format":1,"time":"2024-11-21T16:42:35.120Z","type":"run-started".*\}\n$/,
  );
  clock.at += 5000;
  emit(stopping);
  expect(
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type),
  ).toEqual(['run-started', 'stopping']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(complaints).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)("what root records in another user's project is that user's", () => {
  const project = temporaryDirectory();
  chownSync(project, 1234, 1235);
  vi.stubEnv('RPC_PLAYBOOKS_TRUST', project);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { made, folder } = record({ folder: join(project, '.runs') });
  made.listener(started);
  for (const path of [folder, made.path ?? ''])
    expect(statSync(path)).toMatchObject({ uid: 1234, gid: 1235 });
});

test('two runs in one second have separate files, and the name of an inventory is made safe', () => {
  const first = record();
  const second = record({ folder: first.folder });
  first.emit(started);
  second.emit(started);
  first.emit(stopping);
  expect(readdirSync(first.folder)).toEqual(['20241121T164235Z-lab.ndjson', '20241121T164236Z-lab.ndjson']);
  expect(readFileSync(first.made.path ?? '', 'utf8').split('\n')).toHaveLength(3);

  const odd = record({ inventory: '../my inventory\u0000é' });
  odd.emit(started);
  expect(readdirSync(odd.folder)).toEqual(['20241121T164235Z--my-inventory-.ndjson']);
});

test('a directory that cannot be written is reported once, and the run goes on', () => {
  const blocked = join(temporaryDirectory(), 'file');
  writeFileSync(blocked, '');
  const { emit, made, complaints } = record({ folder: blocked });
  emit(started);
  emit(stopping);
  expect(complaints).toEqual([
    expect.stringMatching(/^this run is not recorded: \S+ cannot be written \((EEXIST|ENOTDIR)\)$/),
  ]);
  expect(made.path).toBeUndefined();
});

test('a full disk is reported once, the record ends there, and the run goes on', () => {
  const { emit, made, complaints } = record();
  emit(started);
  replaceOpen(made.path ?? '', '/dev/full');
  emit(stopping);
  emit(stopping);
  expect(complaints).toEqual([
    expect.stringMatching(
      /^the record of this run is incomplete from here on: \S+\.ndjson cannot be written \(ENOSPC\)$/,
    ),
  ]);
  expect(made.path).toBeUndefined();
});

test('progress of long work is recorded less often for each host, so that the file stays small', () => {
  const { emit, made, clock } = record();
  emit({ type: 'resource-started', task });
  const from = clock.at;
  const hours = 10;
  for (let passed = 0; passed < hours * 3600; passed += 0.5) {
    clock.at = from + passed * 1000;
    emit({ type: 'progress', task, progress: { what: 'restoring', done: passed } });
    if (passed < 10)
      emit({ type: 'progress', task: { ...task, host: 'db-2' }, progress: { what: 'copying' } });
  }
  const lines = readFileSync(made.path ?? '', 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.length).toBeLessThan(4000);
  expect(statSync(made.path ?? '').size).toBeLessThan(1_000_000);
  const times = (host: string) =>
    lines
      .map((line) => JSON.parse(line))
      .filter((event) => event.type === 'progress' && event.host === host)
      .map(({ time }) => Date.parse(time) - from);
  expect(times('db-1').slice(0, 4)).toEqual([0, 1000, 2000, 3000]);
  expect(times('db-2')).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
});

test('old records are removed with their reports, and files with other names stay', () => {
  const folder = join(temporaryDirectory(), '.runs');
  mkdirSync(folder);
  const old = ['20240101T000000Z-lab.ndjson', '20240102T000000Z-lab.ndjson', '20240103T000000Z-lab.ndjson'];
  const others = [
    '20230101T000000Z-lab.ndjson.bak',
    'x20230101T000000Z-lab.ndjson',
    '20230101-lab.ndjson',
    'notes.txt',
    '20230102T000000Z-lab.html',
  ];
  for (const name of [...old, ...others, '20240101T000000Z-lab.html']) writeFileSync(join(folder, name), '');
  symlinkSync('/etc/hostname', join(folder, '20220101T000000Z-lab.ndjson'));
  mkdirSync(join(folder, '20220102T000000Z-lab.ndjson'));
  chmodSync(folder, 0o755);
  const { emit, complaints } = record({ folder, keep: 2 });
  emit(started);
  expect(complaints).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(
    [
      ...others,
      '20220101T000000Z-lab.ndjson',
      '20220102T000000Z-lab.ndjson',
      '20240103T000000Z-lab.ndjson',
      '20241121T164235Z-lab.ndjson',
    ].sort(),
  );
});

describe('records of another inventory or mode', () => {
  const day = (number: number) => `202401${String(number).padStart(2, '0')}T000000Z`;
  /**
   * A folder with these records, then one more run.
   *
   * @returns the records that are left
   */
  function left(names: readonly string[], options: Partial<RunRecordOptions>): string[] {
    const folder = join(temporaryDirectory(), '.runs');
    mkdirSync(folder);
    for (const name of names) writeFileSync(join(folder, `${name}.ndjson`), '');
    const { emit } = record({ folder, ...options });
    emit(started);
    return readdirSync(folder)
      .map((name) => name.replace('.ndjson', ''))
      .sort();
  }
  const checks = Array.from({ length: 9 }, (_, i) => `${day(10 + i)}-lab.check`);

  test('are not removed by a check', () => {
    const others = [`${day(1)}-lab`, `${day(2)}-mainnet`, `${day(3)}-mainnet.check`];
    expect(left([...others, ...checks], { check: true, keep: 3 })).toEqual([
      ...others,
      ...checks.slice(-2),
      '20241121T164235Z-lab.check',
    ]);
  });

  test('are removed if there are too many in all, those of checks first', () => {
    const names = [`${day(1)}-old`, `${day(2)}-old`, `${day(3)}-other`, ...checks];
    expect(left(names, { keepInAll: 4 })).toEqual([...names.slice(0, 3), '20241121T164235Z-lab']);
    expect(left(names, { keepInAll: 2 })).toEqual([`${day(3)}-other`, '20241121T164235Z-lab']);
  });
});
