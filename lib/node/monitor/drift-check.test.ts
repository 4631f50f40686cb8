import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { eventLine } from '../../engine/output/event-json.ts';
import { describeProblem } from '../../engine/problem/problem.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { HostSummary } from '../../engine/run/events.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { driftCheck } from './drift-check.ts';
import { metricsProgram } from './textfiles.ts';

const counts = { ok: 60, changed: 0, pending: 0, unknown: 0, warning: 4, failed: 0 };
const host = (name: string, more: Partial<HostSummary> = {}): HostSummary => ({
  host: name,
  counts,
  seconds: 1.5,
  unreachable: false,
  stopped: undefined,
  roundTrips: 2,
  ...more,
});

/**
 * Runs the script with a check that prints these hosts at its end and has this exit code.
 *
 * @returns metrics without comments and the time
 */
function checked(
  exitCode: number,
  hosts?: readonly HostSummary[],
  folder = temporaryDirectory(),
  shell: readonly string[] = [],
) {
  const last = hosts
    ? eventLine({ type: 'run-finished', hosts, seconds: 2, interrupted: false }, 0)
    : 'no event';
  writeFileSync(join(folder, 'events'), `{"type":"run-started"}\n${last}\n`);
  writeFileSync(
    join(folder, 'node'),
    `#!/bin/sh\necho "$@" >${folder}/words; cat ${folder}/events; exit ${exitCode}`,
    {
      mode: 0o755,
    },
  );
  const words = [
    ...shell,
    '-c',
    metricsProgram('drift-check'),
    'drift-check',
    join(folder, 'node'),
    folder,
    '/etc/main net.yaml',
    'root',
    '3600',
    folder,
    '--identity',
    '/k',
  ];
  const { stderr } = spawnSync('sh', words, { encoding: 'utf8' });
  const [file = ''] = readdirSync(folder).filter((name) => name.startsWith('rpc_node_drift'));
  const metrics = readFileSync(join(folder, file), 'utf8')
    .split('\n')
    .filter((line) => /^rpc_node_drift_(check_ok|resources)/.test(line));
  return { file, metrics, stderr, words: readFileSync(join(folder, 'words'), 'utf8').trim() };
}

test("in a folder of node_exporter's user, a link is not followed with the rights of root", () => {
  const [top, user] = [temporaryDirectory(), 64_246];
  const [folder, secret] = [join(top, 'folder'), join(top, 'secret')];
  chmodSync(top, 0o755);
  writeFileSync(secret, 'of root', { mode: 0o600 });
  mkdirSync(folder);
  chownSync(folder, user, user);
  expect(checked(0, [host('db-1')], folder).metrics).toHaveLength(2);
  symlinkSync(secret, join(folder, '.rpc_node_drift_main_net.prom.new'));
  expect(checked(0, [host('db-1'), host('rpc-1')], folder).metrics).toHaveLength(3);
  expect([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777]).toEqual(['of root', 0o600]);
  expect(lstatSync(join(folder, 'rpc_node_drift_main_net.prom'))).toMatchObject({ uid: 0, mode: 0o100644 });
  expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([]);
});

test('on a full disk what an earlier check found stays, and grows old', () => {
  const folder = temporaryDirectory();
  const { metrics } = checked(0, [host('db-1'), host('rpc-1')], folder);
  expect(metrics).toHaveLength(3);
  expect(checked(0, [host('db-1')], folder, [...onFullDisk, 'sh']).metrics).toEqual(metrics);
});

test('what check mode found is written for each host', () => {
  const found = checked(2, [
    host('db-1'),
    host('rpc-1', { counts: { ...counts, pending: 2, unknown: 1, failed: 4, skipped: 9 } }),
  ]);
  expect(found).toEqual({
    file: 'rpc_node_drift_main_net.prom',
    metrics: [
      'rpc_node_drift_check_ok{inventory="main_net"} 1',
      'rpc_node_drift_resources{inventory="main_net",host="db-1"} 0',
      'rpc_node_drift_resources{inventory="main_net",host="rpc-1"} 7',
    ],
    stderr: '',
    words:
      'node_modules/zx/build/cli.js playbooks/deploy.mjs --inventory /etc/main net.yaml --check --json --identity /k',
  });
});

test.each<[what: string, exitCode: number, hosts: readonly HostSummary[] | undefined, resources: number]>([
  ['an unreachable host', 4, [host('db-1'), host('rpc-1', { unreachable: true })], 1],
  ['an interrupt', 130, [host('db-1')], 0],
  ['a wrong inventory', 3, undefined, 0],
  ['a crash', 1, undefined, 0],
  ['success without a result', 0, undefined, 0],
])('a check that could not run is never "no drift": %s', (_, exitCode, hosts, resources) => {
  const { metrics, stderr } = checked(exitCode, hosts);
  expect(metrics[0]).toBe('rpc_node_drift_check_ok{inventory="main_net"} 0');
  expect(metrics).toHaveLength(1 + resources);
  expect(stderr).toContain(`could not run to its end: exit code ${exitCode}`);
});

test('the timer runs it as the inventory says, and an inventory that says nothing is refused with its place', async () => {
  const path = await labDeployment([
    [['vars', 'monitoring'], { drift_check: { every_minutes: 5, user: 'checker' } }],
  ]);
  const resources = driftCheck(await loadDeployment(path), '/home/checker/key');
  expect(resources.map(({ name }) => name)).toContain('schedule rpc-node-drift-lab');
  const unit = async (inventory: Parameters<typeof driftCheck>[0]) => {
    const schedule = driftCheck(inventory).find(({ name }) => name.startsWith('schedule '));
    return JSON.stringify(await schedule?.check(fakeHost([])));
  };
  const loaded = await loadDeployment(path);
  expect(await unit(loaded)).toContain('ProtectSystem=strict');
  // A check of the controller itself would judge the sandbox.
  const [first, ...rest] = loaded.hosts;
  if (!first) throw new Error('no host');
  const here = { ...first, connection: { ...first.connection, type: 'local' as const } };
  expect(await unit({ ...loaded, hosts: [here, ...rest] })).not.toContain('ProtectSystem');
  const spaced = { ...(await loadDeployment(path)), name: 'd r' };
  expect(() => driftCheck(spaced)).toThrow('the inventory "d r" cannot name a timer');
  const without = await loadDeployment(await labDeployment());
  const refused = (() => {
    try {
      return driftCheck(without);
    } catch (error) {
      return describeProblem(error as never);
    }
  })();
  expect(refused).toBe(
    `${without.file}: monitoring.drift_check is missing: nothing says how often to check\n  such as monitoring: { drift_check: { every_minutes: 60 } }`,
  );
});
