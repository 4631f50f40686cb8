import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { metricsProgram } from '../monitor/textfiles.ts';

interface Repository {
  /** When the newest whole backup ended; undefined without one. */
  readonly newest?: Date;
  readonly segments?: readonly string[];
  /** Where its backup.info is. Default: as before Barman 3.13.2. */
  readonly path?: string;
  /** More words of its backup.info. */
  readonly info?: string;
  /** The history of timeline 2, where the server was recovered. */
  readonly history?: string;
  /** What the server says: bytes behind, and state of the slot. */
  readonly server?: string;
  /** Per cent of the disk that are free. */
  readonly free?: number;
  readonly barman?: string;
  /**
   * The drill that the operator wants each so many hours, default 48; 0 for one that was run by
   * hand.
   */
  readonly drill?: { readonly failed?: string; readonly hours?: number };
  /**
   * Hours ago: when the repository was checked first, and when drills passed, by the name of the
   * result.
   */
  readonly hoursAgo?: Readonly<Record<string, number>>;
  /** The notes of the copy in a storage, by name; undefined where there is no copy. */
  readonly copy?: Readonly<Record<string, string>>;
  /** What the verification of the newest backup said. */
  readonly corrupt?: string;
  /** Why no base backup was made. */
  readonly noRoom?: string;
  /** Whether the disk of the results is full. */
  readonly full?: boolean;
}

/** Runs the check over a repository, with stand-ins for the programs that it asks. */
function check({
  newest,
  segments = [],
  path = 'base/one/backup.info',
  info = '',
  history,
  server = '100|reserved',
  free = 50,
  barman = '',
  drill,
  hoursAgo = {},
  corrupt,
  noRoom,
  copy,
  full = false,
}: Repository) {
  const folder = temporaryDirectory();
  const [repository, results, metrics, programs] = ['repository', 'results', 'metrics', 'bin'].map((name) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  }) as [string, string, string, string];
  for (const name of ['base/one', 'base/two', 'wals/0000000100000000', 'streaming', 'meta'])
    mkdirSync(join(repository, name), { recursive: true });
  if (newest) {
    const end = newest.toISOString().replace('T', ' ').replace('Z', '+00:00');
    writeFileSync(join(repository, path), `end_time=${end}\nstatus=DONE\n${info}`);
  }
  writeFileSync(
    join(repository, 'base/two/backup.info'),
    'end_time=2030-01-01 00:00:00+00:00\nstatus=FAILED\n',
  );
  for (const name of segments) writeFileSync(join(repository, 'wals/0000000100000000', name), '');
  if (history !== undefined) writeFileSync(join(repository, 'wals/00000002.history'), history);
  const program = (name: string, text: string) => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(programs, name), 0o755);
  };
  program('df', `case $* in *avail*) echo x; echo ${free} ;; *) echo x; echo 100 ;; esac`);
  program('psql', `printf '%s\\n' '${server}'`);
  program('barman', barman === '' ? ':' : `echo '${barman}'; exit 2`);
  // This machine may have no such user.
  program('id', 'echo 0');
  program(
    'setpriv',
    `while [ "$1" != -- ] && [ "$1" != sh ]; do shift; done; [ "$1" = sh ] || shift; exec "$@"`,
  );
  const notes = join(folder, 'notes');
  mkdirSync(notes);
  for (const [name, text] of Object.entries(copy ?? {})) writeFileSync(join(notes, name), `${text}\n`);
  if (drill?.failed !== undefined) writeFileSync(join(results, 'drill-failed'), drill.failed);
  if (corrupt !== undefined) writeFileSync(join(results, 'verify-failed'), corrupt);
  if (noRoom !== undefined) writeFileSync(join(results, 'no-room'), noRoom);
  for (const [name, hours] of Object.entries(hoursAgo)) {
    const time = Date.now() / 1000 - hours * 3600;
    writeFileSync(join(results, name), 'PASS');
    utimesSync(join(results, name), time, time);
  }
  const prom = join(metrics, 'rpc_node_backup.prom');
  if (full) for (const path of [join(results, 'problems'), prom]) writeFileSync(path, 'former\n');
  const { status, stderr } = spawnSync(
    'sh',
    [
      ...(full ? [...onFullDisk, 'sh'] : []),
      '-c',
      metricsProgram('base-backups', 'timeline', 'backup-check'),
      'backup-check',
      repository,
      'host=x',
      metrics,
      results,
      '49',
      String(drill ? (drill.hours ?? 48) : 0),
      ...(copy ? [notes] : []),
    ],
    {
      env: { ...process.env, PATH: `${programs}:${process.env.PATH}` },
      encoding: 'utf8',
    },
  );
  expect([status, full ? '' : stderr]).toEqual([full ? 1 : 0, '']);
  const values = existsSync(prom)
    ? readFileSync(prom, 'utf8').matchAll(/^rpc_node_backup_(\w+) (.*)$/gm)
    : [];
  return {
    problems: readFileSync(join(results, 'problems'), 'utf8').split('\n').filter(Boolean),
    prom: existsSync(prom) ? readFileSync(prom, 'utf8') : '',
    metrics: Object.fromEntries([...values].map(([, name, value]) => [name, Number(value)])),
  };
}

const segment = (log: number, part: number, timeline = 1) =>
  `0000000${timeline}${log.toString(16).padStart(8, '0')}${part.toString(16).padStart(8, '0')}`.toUpperCase();
const now = new Date();
/** So many minutes ago, in seconds since 1970. */
const ago = (minutes: number) => String(Math.floor(Date.now() / 1000) - minutes * 60);

test('a sound repository', () => {
  const segments = [segment(0, 254), segment(0, 255), segment(1, 0), segment(1, 1)];
  const { problems, metrics } = check({ newest: now, segments });
  expect(problems).toEqual([]);
  expect(metrics).toMatchObject({ ok: 1, receiving: 1, behind_bytes: 100, gap: 0 });
  expect(metrics.newest_seconds).toBe(Math.floor(now.getTime() / 1000));
});

test('a repository of Barman 3.13.2 or later', () => {
  const info = `timeline=1\nbegin_wal=${segment(0, 8)}\nend_xlog=0/8000100\n`;
  const newer = { newest: now, path: 'meta/one-backup.info', info };
  expect(check({ ...newer, segments: [segment(0, 8)] }).problems).toEqual([]);
  expect(check({ ...newer, segments: [segment(0, 9)] }).problems).toEqual([
    expect.stringContaining(`${segment(0, 8)} is not there`),
  ]);
});

test.each<[what: string, Repository]>([
  ['something is wrong', {}],
  ['nothing is wrong', { newest: now }],
  ['nothing is wrong, also with the copy', { newest: now, copy: { 'log-at': ago(1), 'base-at': ago(1) } }],
])('on a full disk the result before stays, and grows old: %s', (_, repository) => {
  const { problems, prom } = check({ ...repository, full: true });
  expect([problems, prom]).toEqual([['former'], 'former\n']);
});

test('a gap is of no harm from the next base backup on, and neither is one in what was undone', () => {
  const info = `timeline=1\nbegin_wal=${segment(0, 8)}\nend_xlog=0/8000100\n`;
  const before = { newest: now, info, segments: [segment(0, 5), segment(0, 8), segment(0, 9)] };
  expect(check(before).problems).toEqual([]);
  const lost = { ...before, segments: [segment(0, 7), segment(0, 9)] };
  expect(check(lost).problems).toEqual([expect.stringContaining(`${segment(0, 8)} is not there`)]);
  expect(check({ ...before, segments: [segment(0, 7)] }).problems).toEqual([
    expect.stringContaining(`${segment(0, 8)} is not there`),
  ]);
  const undone = [segment(0, 12), ...[10, 11].map((part) => segment(0, part, 2))];
  const segments = [...before.segments, ...undone];
  expect(check({ ...before, segments, history: '1\t0/A000028\tx\n' }).problems).toEqual([]);
});

test.each<[string, Repository, string, Record<string, number>]>([
  ['no whole backup', {}, 'no backup: there is no whole base backup', { ok: 0, newest_seconds: 0 }],
  [
    'a failure whose reason a full disk has cut',
    { newest: now, noRoom: '' },
    'no base backup is made: the disk was full, and the reason is lost',
    { ok: 0 },
  ],
  [
    'a verification whose result a full disk has cut',
    { newest: now, corrupt: '' },
    'the newest base backup is not verified: the disk was full, and the reason is lost',
    { ok: 0 },
  ],
  [
    'a drill whose reason a full disk has cut',
    { newest: now, drill: { failed: '' } },
    'the recovery drill failed: the disk was full, and the reason is lost',
    { ok: 0 },
  ],
  [
    'no room for the next one',
    { newest: now, noRoom: 'there is no room for a base backup in /data' },
    'no base backup is made: there is no room for a base backup in /data',
    { ok: 0 },
  ],
  ['an old one', { newest: new Date(Date.now() - 50 * 3_600_000) }, 'backup too old', { ok: 0 }],
  [
    'a gap in the log',
    { newest: now, segments: [segment(0, 255), segment(1, 1)] },
    `gap in the write-ahead log: ${segment(0, 255)} is followed by ${segment(1, 1)}`,
    { ok: 0, gap: 1 },
  ],
  [
    'a gap at the beginning of a new timeline, where that before goes on',
    {
      newest: now,
      segments: [8, 9, 10, 11, 12].map((part) => segment(0, part)).concat(segment(0, 12, 2)),
      info: `timeline=1\nbegin_wal=${segment(0, 8)}\nend_xlog=0/8000100\n`,
      history: '1\t0/A000028\tbefore a time\n',
    },
    `gap in the write-ahead log: ${segment(0, 9)} is followed by ${segment(0, 12, 2)}`,
    { ok: 0, gap: 1 },
  ],
  [
    'a slot that lost log',
    { newest: now, server: '5|lost' },
    'the server dropped what was not received',
    { gap: 1 },
  ],
  [
    'no receiver',
    { newest: now, server: '-1|reserved' },
    'archive behind: no write-ahead log is received',
    { receiving: 0 },
  ],
  [
    'a receiver that is behind',
    { newest: now, server: '300000000|extended' },
    'archive behind: 286 MB',
    { receiving: 1 },
  ],
  [
    'a server that is down',
    { newest: now, server: 'psql: refused' },
    'the state database does not answer: psql: refused',
    { receiving: 0 },
  ],
  [
    'a drill by hand that failed',
    { newest: now, drill: { failed: 'other blocks', hours: 0 } },
    'the recovery drill failed: other blocks',
    { ok: 0 },
  ],
  [
    'a drill that has never passed',
    { newest: now, drill: {}, hoursAgo: { 'checked-since': 49 } },
    'the recovery drill has not passed for 48 hours',
    { ok: 0, drill_passed_seconds: 0 },
  ],
  [
    'a drill that passed long ago, while the next one runs',
    { newest: now, drill: {}, hoursAgo: { 'checked-since': 90, 'drill-passed.before': 49 } },
    'the recovery drill has not passed for 48 hours',
    { ok: 0 },
  ],
  [
    'a corrupt backup',
    { newest: now, corrupt: 'ERROR: checksum mismatch for file "base/1"' },
    'the newest base backup is corrupt: ERROR: checksum mismatch',
    { ok: 0 },
  ],
  [
    'a copy off the site that fails',
    {
      newest: now,
      copy: { 'log-at': ago(1), 'base-at': ago(600), failed: 'first\ns3://b/f/: there is no such bucket' },
    },
    'copy off the site fails: s3://b/f/: there is no such bucket',
    { ok: 1 },
  ],
  [
    'a copy off the site whose log is too old',
    {
      newest: now,
      copy: { 'log-at': ago(61), 'base-at': ago(600) },
      hoursAgo: { 'copied-since': 90 },
    },
    'copy off the site too old: the newest write-ahead log there is of 20',
    { ok: 1 },
  ],
  [
    'a copy off the site without a base backup',
    { newest: now, copy: { 'log-at': ago(1) }, hoursAgo: { 'copied-since': 90 } },
    'copy off the site too old: it still has no base backup after 49 hours',
    { ok: 1, copied_base_seconds: 0 },
  ],
  ['a full disk', { newest: now, free: 1 }, 'repository full: ', { ok: 0 }],
  [
    'what Barman finds',
    { newest: now, barman: 'BARMAN CRITICAL - x | y' },
    'barman check: BARMAN CRITICAL - x',
    { ok: 0 },
  ],
  [
    'a failed drill',
    { newest: now, drill: { failed: 'other hashes' } },
    'the recovery drill failed: other hashes',
    { ok: 0 },
  ],
])('%s', (_, repository, words, values) => {
  const { problems, metrics } = check(repository);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(words);
  expect(metrics).toMatchObject(values);
});

test('a drill that passed, or that has its time yet, is no problem', () => {
  for (const hoursAgo of [
    { 'checked-since': 90, 'drill-passed.before': 47 },
    { 'checked-since': 47 },
    undefined,
  ])
    expect(check({ newest: now, drill: {}, ...(hoursAgo && { hoursAgo }) }).problems).toEqual([]);
});

test('beside a fault of the copy, one of the repository counts', () => {
  const copy = { 'log-at': ago(1), 'base-at': ago(600), failed: 's3://b/f/: there is no such bucket' };
  const { problems, metrics } = check({ copy });
  expect(problems).toHaveLength(2);
  expect(metrics).toMatchObject({ ok: 0 });
});

test('a copy off the site that is new, or has its time yet, is no problem and has its figures', () => {
  const copy = { 'log-at': ago(5), 'base-at': ago(600) };
  const sound = check({ newest: now, copy, hoursAgo: { 'copied-since': 90 } });
  expect(sound.problems).toEqual([]);
  expect(sound.metrics).toMatchObject({
    copied_seconds: Number(copy['log-at']),
    copied_base_seconds: Number(copy['base-at']),
  });
  expect(check({ newest: now, copy: {} }).problems).toEqual([]);
  expect(Object.keys(check({ newest: now }).metrics).filter((name) => name.startsWith('copied'))).toEqual([]);
});
