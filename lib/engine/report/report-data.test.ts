import { expect, test } from 'vitest';
import { endingOf } from './ending.ts';
import { type ReportData, reportData } from './report-data.ts';
import { checkRun, failedRun, hostileRun, killedRun, largeRun } from './testdata/runs.ts';
import { recorded, Telling } from './testdata/scripted-run.ts';

const data = (told: Parameters<typeof recorded>[0]) => reportData(recorded(told));

/** The letters of a row, by a part of its name. */
function row({ rows, texts, outcomes }: ReportData, resource: string): string | undefined {
  return outcomes[rows.findIndex(([, , name]) => texts[name]?.includes(resource))];
}

function waits({ hosts }: ReportData, name: string): string[] {
  const host = hosts.find((each) => each.name === name);
  return (host?.timeline ?? []).filter(({ kind }) => kind === 'wait').map(({ label }) => label);
}

test('cells have the outcome that was told, what came after a failure was not reached, and what is another host’s is empty', () => {
  const report = data(failedRun());
  expect(report.hosts.map(({ name }) => name)).toEqual(['db-1', 'rpc-1', 'rpc-2']);
  expect(row(report, 'memory')).toBe('www');
  expect(row(report, 'packages docker-ce')).toBe('ccf');
  expect(row(report, 'docker root')).toBe('cc-');
  expect(row(report, 'restored')).toBe('c  ');
  expect(row(report, 'json-rpc is running')).toBe(' c ');
});

test('the gap before a play says who was waited for, and in which play', () => {
  const report = data(failedRun());
  expect(waits(report, 'rpc-1')).toEqual(['waits for db-1 (Database+Sync server)']);
  expect(waits(report, 'db-1')).toContain('waits for rpc-1 (prepare servers)');
  expect(waits(report, 'rpc-2')).toEqual([]);
  expect(report.hosts[2]).toMatchObject({ left: 11, next: 'packages docker-ce, docker-ce-cli, containerd.io' });
  expect(report.hosts[0]?.timeline[1]).toMatchObject({ kind: 'look', from: 400, to: 2000 });
  const stopped = report.hosts[2]?.timeline.at(-1);
  expect(stopped).toMatchObject({ kind: 'stopped', label: expect.stringContaining('docker-ce') });
});

test('a host that waited for a play that was skipped then waited for it all the same', () => {
  const run = new Telling(0);
  run.started('deploy', 'lab', ['db-1', 'rpc-1']);
  run.connected('db-1', 0.1, 1);
  run.connected('rpc-1', 0.1, 1);
  run.play('database', ['db-1']);
  run.done('db-1', 'database', 'snapshot', 'restored', { outcome: 'failed', seconds: 60 });
  run.stopped('db-1', 'database', 'restored failed');
  run.tell({ type: 'play-skipped', play: 'rpc', why: 'it needs "database"' }, 62);
  run.tell({ type: 'host-stopped', host: 'rpc-1', play: 'rpc', why: 'play "rpc" was skipped' }, 62);
  run.finished(['db-1', 'rpc-1']);
  expect(waits(data(run.told()), 'rpc-1')).toEqual(['waits for db-1 (database)']);
});

test('a run that was killed says what was under way and how far it was', () => {
  const report = data(killedRun());
  expect(report.run.ending.kind).toBe('open');
  expect(row(report, 'restored')).toBe('~  ');
  const [, at, seconds, note] =
    report.details.find(([cell]) => report.outcomes[Math.floor(cell / 3)]?.[cell % 3] === '~') ?? [];
  expect(at).toBe(report.run.length);
  expect(seconds).toBeCloseTo(890, 0);
  expect(report.texts[note ?? -1]).toBe('last told at 16:58:42 UTC: restoring 1.7 GiB of 6.0 GiB (27%)');
});

test('how it ended follows the exit code', () => {
  const ending = (told: Parameters<typeof recorded>[0]) => endingOf(recorded(told));
  expect(ending(failedRun())).toEqual({ kind: 'failed', text: 'failed: rpc-2' });
  expect(ending(checkRun())).toEqual({ kind: 'unreachable', text: 'unreachable: rpc-3; 4 pending, 2 unknown' });
  expect(ending(killedRun()).kind).toBe('open');
  const quiet = (outcome: 'ok' | 'changed' | 'pending', check: boolean, interrupted = false) => {
    const run = new Telling(0);
    run.started('deploy', 'lab', ['a'], check);
    run.connected('a', 0.1, 0.1);
    run.done('a', 'p', 'r', 'x', { outcome });
    run.finished(['a'], interrupted);
    return ending(run.told());
  };
  expect(quiet('ok', false)).toEqual({ kind: 'converged', text: 'nothing changed' });
  expect(quiet('ok', true)).toEqual({ kind: 'converged', text: 'nothing to change' });
  expect(quiet('changed', false)).toEqual({ kind: 'converged', text: 'converged, 1 changed' });
  expect(quiet('pending', true)).toEqual({ kind: 'pending', text: '1 pending' });
  const broken = new Telling(0);
  broken.started('deploy', 'lab', ['a']);
  broken.tell({ type: 'run-failed', error: new Error('the plan no longer holds\n  make a new one') }, 1);
  expect(ending(broken.told())).toEqual({ kind: 'failed', text: 'failed: the plan no longer holds' });
  expect(quiet('ok', false, true)).toEqual({ kind: 'interrupted', text: 'interrupted' });
});

test('rows stand in the order of plays and roles, also where hosts tell theirs side by side and have not all of them', () => {
  const run = new Telling(0);
  run.started('deploy', 'lab', ['a', 'b']);
  const done = (host: string, play: string, role: string, resource: string, at: number) =>
    run.tell(
      {
        type: 'resource-done',
        step: { host, play, role, resource },
        outcome: 'ok',
        differences: [],
        note: undefined,
        error: undefined,
        seconds: 0,
        commands: [],
      },
      at,
    );
  done('a', 'p', 'one', '1', 1);
  done('a', 'p', 'one', '3', 2);
  done('b', 'p', 'one', '1', 3);
  done('b', 'p', 'one', '2', 4);
  done('b', 'p', 'two', '1', 5);
  done('a', 'q', 'one', '1', 6);
  done('b', 'p', 'two', '2', 7);
  const { rows, texts } = data(run.told());
  expect(rows.map((row) => row.map((place) => texts[place]).join(' '))).toEqual([
    'p one 1',
    'p one 2',
    'p one 3',
    'p two 1',
    'p two 2',
    'q one 1',
  ]);
});

test('an outcome of a later version, differences, errors without their host’s name, and commands are kept', () => {
  const report = data(checkRun());
  const has = (text: string) => report.texts.includes(text);
  expect(has('docker compose --project-directory /opt/rpc-node up --detach --wait json-rpc')).toBe(true);
  expect(has('-MaxRequestsPerIPAndSecond = 7')).toBe(true);
  expect(report.hosts[3]?.unreachable).toMatch(/^connect ECONNREFUSED/);
  const later = recorded(checkRun()).map((event) =>
    event.type === 'resource-done' ? { ...event, outcome: 'skipped' } : event,
  );
  expect(reportData(later).outcomes[0]).toBe('*** ');
});

test('nothing that steers a terminal or turns text around is left', () => {
  const all = JSON.stringify(data(hostileRun()).texts);
  expect(all).toContain('\\\\u202e');
  for (const steering of ['\u202e', '\\u001b']) expect(all).not.toContain(steering);
});

test('ten thousand cells stay small, for what is said twice stands once', () => {
  const report = data(largeRun(100, 100));
  expect(report.rows).toHaveLength(100);
  expect(JSON.stringify(report).length).toBeLessThan(400_000);
});
