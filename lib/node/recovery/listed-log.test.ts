import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

const [script, timelines] = ['recovery', 'timeline'].map((name) =>
  readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8'),
) as [string, string];
const listLog = /^list_log\(\) \{\n[\s\S]*?\n\}\n/m.exec(script)?.[0] ?? '';

interface Log {
  readonly files: readonly string[];
  /** When each arrived, and its bytes. */
  readonly arrived?: readonly (readonly [seconds: number, bytes: number])[];
  /** Of timeline 2, where there is one. */
  readonly history?: string;
  /** The time of the recovery, seconds since 1970. */
  readonly until?: number;
}

/** The segments that a recovery of these files takes. */
function listed({ files, arrived = [], history, until = 9999999999 }: Log, begin: string): string[] {
  const folder = temporaryDirectory();
  for (const name of ['wals', 'streaming']) mkdirSync(join(folder, name));
  for (const [n, name] of files.entries()) {
    const [seconds = 0, bytes = 0] = arrived[n] ?? [];
    writeFileSync(join(folder, name), Buffer.alloc(bytes));
    utimesSync(join(folder, name), seconds, seconds);
  }
  if (history !== undefined) writeFileSync(join(folder, 'wals/00000002.history'), history);
  const settings = shellSettings({ REPOSITORY: folder, begin, end: begin, until });
  const words = `${settings}${timelines}${listLog}\nchoose_timeline "$REPOSITORY"; list_log`;
  const { stdout } = spawnSync('sh', ['-c', words], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
}

test('segments whose names are digits alone stay two, and a segment that is there twice is taken once', () => {
  const names = ['1F', '20', '21', '22'].map((end) => `0000000100000000000000${end}`);
  const wals = names.map((name) => `wals/${name}`);
  expect(listed({ files: wals }, names[0] ?? '')).toEqual(names);
  expect(listed({ files: [...wals, `streaming/${names[3]}`] }, names[0] ?? '')).toEqual(names);
});

test('where a timeline was left, the segments of the next one are taken and none that it has undone', () => {
  const name = (timeline: number, end: string) => `wals/0000000${timeline}0000000000000${end}`;
  const files = ['00E', '00F', '010', '011', '012'].map((end) => name(1, end));
  const newer = ['010', '012'].map((end) => name(2, end));
  const wanted = [...files.slice(0, 2), 'wals/00000002.history', ...newer].map((path) => path.slice(5));
  const log = { files: [...files, ...newer], history: '1\t0/10000028\tbefore a time\n' };
  expect(listed(log, '00000001000000000000000E')).toEqual(wanted);
});

test('the log goes on until a commit from after the time is there, also where the server was idle', () => {
  const names = ['1', '2', '3', '4', '5', '6'].map((end) => `00000001000000000000000${end}`);
  const [busy, idle] = [1_000_000, 17_000];
  // The second one may end with the time. The next two were switched without a write.
  const arrived = [
    [900, busy],
    [1001, busy],
    [1240, idle],
    [1480, idle],
    [1720, busy],
    [1960, busy],
  ] as const;
  const log = { files: names.map((name) => `wals/${name}`), arrived };
  expect(listed({ ...log, until: 1000 }, names[0] ?? '')).toEqual(names.slice(0, 5));
  expect(listed({ ...log, until: 950 }, names[0] ?? '')).toEqual(names.slice(0, 5));
  expect(listed({ ...log, until: 800 }, names[0] ?? '')).toEqual(names.slice(0, 2));
});

test.each([
  ['of a minute before the time', '2026-11-22T18:00:00Z', '2026-11-22T17:59:00Z', 'refused'],
  // The clock of the server may be ahead.
  ['of less than a minute before it', '2026-11-22T18:00:00Z', '2026-11-22T17:59:01Z', ''],
  ['of after it', '2026-11-22T18:00:00Z', '2026-11-22T18:00:01Z', ''],
  ['for all that arrived', 'latest', '2026-11-22T17:00:00Z', ''],
  ['that is missing, which is a gap,', '2026-11-22T18:00:00Z', '1970-01-01T00:00:00Z', ''],
])('log %s is enough for a recovery, or refuses it', (_, time, newest, refused) => {
  const seconds = (words: string) => Date.parse(words) / 1000;
  const until = time === 'latest' ? 9999999999 : seconds(time);
  const words = `fail() { echo "$*"; exit 1; }\n${shellSettings({ time, until })}${timelines}\nneed_later_log ${seconds(newest)} here`;
  const { stdout } = spawnSync('sh', ['-c', words], { encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } });
  expect(stdout).toBe(
    refused &&
      'the newest log here is of 2026-11-22T17:59:00Z: recover to latest, or to a time before that\n',
  );
});
