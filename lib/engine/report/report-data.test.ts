import { expect, test } from 'vitest';
import { endingOf } from './ending.ts';
import { type Cell, matrixOf } from './matrix.ts';
import { type ReportData, reportData } from './report-data.ts';
import { checkRun, failedRun, killedRun } from './testdata/runs.ts';
import { recorded, ScriptedRun, type TimedEvent } from './testdata/scripted-run.ts';

const data = (events: readonly TimedEvent[]) => reportData(recorded(events));

/** The cells of a row, found by a part of its name. */
function row({ rows, hosts }: ReportData, resource: string): (Cell | undefined)[] {
  const cells = rows.find((each) => each.resource.includes(resource))?.cells;
  return [...hosts.keys()].map((host) => cells?.get(host));
}

function outcomes(report: ReportData, resource: string) {
  return row(report, resource).map((cell) => cell?.outcome);
}

function waits({ hosts }: ReportData, name: string): string[] {
  const timeline = hosts.get(name)?.timeline ?? [];
  return timeline.filter(({ kind }) => kind === 'wait').map(({ label }) => label);
}

test('cells have the recorded outcome; tasks after a failure are not reached, and tasks of other hosts have no cell', () => {
  const report = data(failedRun());
  expect([...report.hosts.keys()]).toEqual(['db-1', 'rpc-1', 'rpc-2']);
  expect(outcomes(report, 'memory')).toEqual(['warning', 'warning', 'warning']);
  expect(outcomes(report, 'packages docker-ce')).toEqual(['changed', 'changed', 'failed']);
  expect(outcomes(report, 'docker root')).toEqual(['changed', 'changed', 'unreached']);
  expect(outcomes(report, 'restored')).toEqual(['changed', undefined, undefined]);
  expect(outcomes(report, 'json-rpc is running')).toEqual([undefined, 'changed', undefined]);
});

test('the same result on several hosts is one entry, and a plain ok has no entry', () => {
  const report = data(failedRun());
  const entry = (resource: string) =>
    row(report, resource).map((cell) => cell && report.entries.get(cell)?.id);
  const [first, second, failed] = entry('packages docker-ce');
  expect(first).toBe(second);
  expect(failed).not.toBe(first);
  expect(entry('CPU has AVX2')).toEqual([undefined, undefined, undefined]);
  expect(entry('newest block')[1]).toBeDefined();
});

test('the gap before a play names the awaited host and its play', () => {
  const report = data(failedRun());
  const { hosts } = report;
  expect(waits(report, 'rpc-1')).toEqual(['waits for db-1 (Database+Sync server)']);
  expect(waits(report, 'db-1')).toContain('waits for rpc-1 (prepare servers)');
  expect(waits(report, 'rpc-2')).toEqual([]);
  const next = 'packages docker-ce, docker-ce-cli, containerd.io';
  expect(hosts.get('rpc-2')?.stopped).toMatchObject({ left: 11, next });
  const look = { kind: 'look', from: report.started.time + 400, to: report.started.time + 2000 };
  expect(hosts.get('db-1')?.timeline[1]).toMatchObject(look);
  const stopped = { kind: 'stopped', label: expect.stringContaining('docker-ce') };
  expect(hosts.get('rpc-2')?.timeline.at(-1)).toMatchObject(stopped);
});

test('a host that waited for a play that was then skipped still shows the wait', () => {
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['db-1', 'rpc-1']);
  run.connected('db-1', 0.1, 1);
  run.connected('rpc-1', 0.1, 1);
  run.play('database', ['db-1']);
  run.done('db-1', 'database', 'snapshot', 'restored', { outcome: 'failed', seconds: 60 });
  run.stopped('db-1', 'database', 'restored failed');
  run.emit({ type: 'play-skipped', play: 'rpc', why: 'it needs "database"' }, 62);
  run.emit({ type: 'host-stopped', host: 'rpc-1', play: 'rpc', why: 'play "rpc" was skipped' }, 62);
  run.finished(['db-1', 'rpc-1']);
  const report = data(run.events());
  expect(waits(report, 'rpc-1')).toEqual(['waits for db-1 (database)']);
  expect(report.skipped).toMatchObject([{ play: 'rpc', why: 'it needs "database"' }]);
});

test('a killed run shows its unfinished task and the last progress', () => {
  const report = data(killedRun());
  expect(report.ending.kind).toBe('open');
  expect(outcomes(report, 'restored')).toEqual(['unfinished', undefined, undefined]);
  const [cell] = row(report, 'restored');
  expect(cell?.at).toBe(report.end);
  expect(cell?.seconds).toBeCloseTo(890, 0);
  expect(cell?.note).toBe('last reported at 16:58:42 UTC: restoring 1.7 GiB of 6.0 GiB (27%)');
});

test('the ending follows the exit code', () => {
  const ending = (events: readonly TimedEvent[]) => endingOf(recorded(events));
  expect(ending(failedRun())).toEqual({ kind: 'failed', text: 'failed: rpc-2' });
  expect(ending(checkRun())).toEqual({
    kind: 'unreachable',
    text: 'unreachable: rpc-3; 4 pending, 2 unknown',
  });
  expect(ending(killedRun()).kind).toBe('open');
  const quiet = (outcome: 'ok' | 'changed' | 'pending', check: boolean, interrupted = false) => {
    const run = new ScriptedRun(0);
    run.started('deploy', 'lab', ['a'], check);
    run.connected('a', 0.1, 0.1);
    run.done('a', 'p', 'r', 'x', { outcome });
    run.finished(['a'], interrupted);
    return ending(run.events());
  };
  expect(quiet('ok', false)).toEqual({ kind: 'converged', text: 'nothing changed' });
  expect(quiet('ok', true)).toEqual({ kind: 'converged', text: 'nothing to change' });
  expect(quiet('changed', false)).toEqual({ kind: 'converged', text: 'converged, 1 changed' });
  expect(quiet('pending', true)).toEqual({ kind: 'pending', text: '1 pending' });
  const broken = new ScriptedRun(0);
  broken.started('deploy', 'lab', ['a']);
  broken.emit({ type: 'run-failed', error: new Error('the plan no longer holds\n  make a new one') }, 1);
  expect(ending(broken.events())).toEqual({ kind: 'failed', text: 'failed: the plan no longer holds' });
  expect(quiet('ok', false, true)).toEqual({ kind: 'interrupted', text: 'interrupted' });
});

test('rows are in the order of plays and roles, also if hosts work in parallel and have different tasks', () => {
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['a', 'b']);
  const done = (host: string, play: string, role: string, resource: string, at: number) =>
    run.emit(
      {
        type: 'resource-done',
        task: { host, play, role, resource },
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
  const rows = matrixOf(recorded(run.events()));
  expect(rows.map(({ play, role, resource }) => `${play} ${role} ${resource}`)).toEqual([
    'p one 1',
    'p one 2',
    'p one 3',
    'p two 1',
    'p two 2',
    'q one 1',
  ]);
});

test('errors do not repeat the name of their host and task, and an outcome of a later version is kept', () => {
  const report = data(checkRun());
  expect(row(report, 'reachable')[3]?.error).toMatch(/^connect ECONNREFUSED/);
  const run = new ScriptedRun(0);
  run.started('deploy', 'lab', ['a']);
  run.done('a', 'p', 'r', 'memory', { outcome: 'failed', error: new Error('a: memory: it has 2 GiB') });
  run.finished(['a']);
  expect(row(data(run.events()), 'memory')[0]?.error).toBe('it has 2 GiB');
  const later = recorded(checkRun()).map((event) =>
    event.type === 'resource-done' ? { ...event, outcome: 'deferred' } : event,
  );
  const skipped = row(reportData(later), 'memory');
  expect(skipped.map((cell) => cell?.outcome)).toEqual(['other', 'other', 'other', undefined]);
  expect(skipped[0]?.note).toBe('outcome deferred: it has 24 GiB');
});
