import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { recordName, safeName } from '../../engine/report/record-name.ts';
import { lastRuns } from './last-run.ts';

function record(
  directory: string,
  time: string,
  events: readonly object[],
  inventory = 'lab',
  check = false,
) {
  const lines = events.map((event) => JSON.stringify({ format: 1, time, ...event }));
  writeFileSync(join(directory, nameOf(time, inventory, check)), `${lines.join('\n')}\n`);
}

/** The file name that a run gives its record. */
function nameOf(time: string, inventory: string, check = false): string {
  return recordName({ time: time.replaceAll(/[-:]|\.\d+/g, ''), inventory: safeName(inventory), check });
}

const started = { type: 'run-started', playbook: 'deploy', inventory: 'lab', check: false, hosts: [] };
const host = (name: string, details: object = {}) => ({
  host: name,
  counts: { ok: 1, changed: 2, failed: 0 },
  seconds: 1,
  unreachable: false,
  roundTrips: 2,
  ...details,
});
const finished = (...hosts: object[]) => ({ type: 'run-finished', interrupted: false, seconds: 2, hosts });

test('each host shows the newest run that worked on it', async () => {
  const directory = temporaryDirectory();
  record(directory, '2026-01-01T10:00:00.000Z', [
    started,
    finished(host('db-1'), host('rpc-1'), host('rpc-2')),
  ]);
  record(directory, '2026-01-02T10:00:00.000Z', [
    started,
    finished(host('rpc-1', { counts: { failed: 1 } }), host('rpc-2', { unreachable: true })),
  ]);
  record(directory, '2026-01-03T10:00:00.000Z', [{ ...started, check: true }, finished(host('rpc-1'))]);
  record(directory, '2026-01-04T10:00:00.000Z', [started]);
  record(
    directory,
    '2026-01-05T10:00:00.000Z',
    [{ ...started, inventory: 'main' }, finished(host('rpc-1'))],
    'main',
  );
  writeFileSync(join(directory, nameOf('2026-01-06T10:00:00.000Z', 'lab')), '{"type":"run-started"\nnull\n');
  expect(Object.fromEntries(await lastRuns(directory, 'lab'))).toEqual({
    'db-1': { playbook: 'deploy', time: '2026-01-01T10:00:00.000Z', ended: 'converged', changed: 2 },
    'rpc-1': { playbook: 'deploy', time: '2026-01-02T10:00:00.000Z', ended: 'failed', changed: 0 },
    'rpc-2': { playbook: 'deploy', time: '2026-01-02T10:00:00.000Z', ended: 'unreachable', changed: 2 },
  });
});

test('an interrupted run, and one in which a host failed', async () => {
  const directory = temporaryDirectory();
  record(directory, '2026-01-01T10:00:00.000Z', [started, { ...finished(host('a')), interrupted: true }]);
  record(directory, '2026-01-02T10:00:00.000Z', [started, finished(host('b', { stopped: 'skipped' }))]);
  const runs = await lastRuns(directory, 'lab');
  expect([runs.get('a')?.ended, runs.get('b')?.ended]).toEqual(['interrupted', 'failed']);
});

test('a run that the operator ended, and one with skipped tasks, have not failed', async () => {
  const directory = temporaryDirectory();
  const skipped = host('b', { counts: { ok: 1, changed: 1, failed: 0, skipped: 1 } });
  record(directory, '2026-01-01T10:00:00.000Z', [
    started,
    { ...finished(host('a', { stopped: 'you ended the run here' })), declined: true },
  ]);
  record(directory, '2026-01-02T10:00:00.000Z', [started, finished(skipped)]);
  const runs = await lastRuns(directory, 'lab');
  expect([runs.get('a')?.ended, runs.get('b')?.ended]).toEqual(['stopped', 'skipped']);
});

test('records are found by the name of their inventory', async () => {
  const directory = temporaryDirectory();
  const inventory = 'main.eu';
  record(directory, '2026-01-01T10:00:00.000Z', [{ ...started, inventory }, finished(host('a'))], inventory);
  expect((await lastRuns(directory, inventory)).get('a')?.ended).toBe('converged');
});

test('any number of newer checks do not hide the last run', async () => {
  const directory = temporaryDirectory();
  record(directory, '2026-01-01T10:00:00.000Z', [started, finished(host('a'))]);
  for (let day = 2; day < 30; day++) {
    const time = `2026-01-${String(day).padStart(2, '0')}T10:00:00.000Z`;
    record(directory, time, [{ ...started, check: true }, finished(host('a'))], 'lab', true);
  }
  expect((await lastRuns(directory, 'lab')).get('a')?.time).toBe('2026-01-01T10:00:00.000Z');
});

test('without records no run is shown', async () => {
  expect((await lastRuns(join(temporaryDirectory(), 'none'), 'lab')).size).toBe(0);
});
