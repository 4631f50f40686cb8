import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot } from '../../lab/layout.mjs';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { metricsProgram } from '../../lib/node/monitor/textfiles.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { installForLightHosts, type LightHost, startLightHost } from '../faults/light-host.ts';
import { inventoryOf } from '../faults/run-light.ts';
import { nodeExporter, prometheus } from '../monitoring-programs.mjs';
import { onlyFire, type Prometheus, start, startPrometheus } from './prometheus.ts';

// Check mode of a small playbook on a real host, by the program of the schedule.

/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;
const address = '127.0.9.140';
/** Seconds between two checks, as the program is told. It begins again at once. */
const every = 10;

let folder: string;
let host: LightHost;
let exporter: ReturnType<typeof start>;
let monitor: Prometheus;
let checks = true;
let checking: Promise<void> | undefined;

const inventory = () => join(folder, 'scheduled.yaml');
const textfiles = () => join(folder, 'textfiles');

/** A project folder, in which the light playbook is the deploy. */
async function makeProject(): Promise<void> {
  await mkdir(textfiles());
  await mkdir(join(folder, 'playbooks'));
  await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'rpc-playbooks.yaml'), '');
  await writeFile(join(folder, 'drift-check'), metricsProgram('drift-check'));
  const playbook = join(projectRoot, 'test/faults/light.mjs');
  await writeFile(join(folder, 'playbooks/deploy.mjs'), `await import('${playbook}');\n`);
  await writeFile(inventory(), inventoryOf([{ host }]));
}

function run(program: string, ...words: string[]): Promise<number | null> {
  const child = spawn(program, words, { cwd: folder, stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', resolve));
}

async function check(): Promise<void> {
  const words = [process.execPath, folder, inventory(), 'root', String(every), textfiles(), '-C', folder];
  await run('sh', join(folder, 'drift-check'), ...words);
}

async function keepChecking(): Promise<void> {
  while (checks) await check();
}

async function targets() {
  const deployment = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
    [['groups', 'monitor'], { 'mon-1': { address } }],
    [['vars', 'monitoring'], { drift_check: { every_minutes: 60, user: 'root' } }],
  ]);
  const { hosts } = await loadDeployment(deployment);
  const watched = hosts.filter(({ name }) => name === 'mon-1');
  const [first] = watched;
  if (!first) throw new Error('no host');
  return { vars: first.vars, hosts: watched };
}

const only = (...alerts: string[]) => onlyFire(monitor, alerts, patience);

/** Installed by test/all.mjs. */
describe.skipIf(![prometheus, nodeExporter].every((path) => existsSync(path)))('alerts of drift', () => {
  beforeAll(async () => {
    installForLightHosts();
    folder = await mkdtemp(join(tmpdir(), 'drift-alerts-'));
    host = await startLightHost('host-1');
    await makeProject();
    exporter = start(nodeExporter, [
      `--web.listen-address=${address}:9100`,
      '--collector.disable-defaults',
      '--collector.textfile',
      `--collector.textfile.directory=${textfiles()}`,
    ]);
  });
  afterAll(async () => {
    checks = false;
    await checking;
    await monitor?.stop();
    await exporter?.stop();
    await host?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('no check has run, and one finds a host as the inventory has it', async () => {
    monitor = await startPrometheus({ ...(await targets()), groups: ['drift'], faster: 60 });
    await only('DriftCheckMissing');
    const deploy = ['playbooks/deploy.mjs', '--inventory', inventory(), '--yes', '-C', folder];
    expect(await run(process.execPath, 'node_modules/zx/build/cli.js', ...deploy)).toBe(0);
    checking = keepChecking();
    await only();
  });

  test('somebody changes a file of the host', async () => {
    host.run('chmod 0777 /etc/light/node');
    await only('DriftFound host-1');
    host.run('chmod 0750 /etc/light/node');
    await only();
  });

  test('the key of the host is gone', async () => {
    await rename(host.clientKey, `${host.clientKey}.gone`);
    await only('DriftCheckFailed mon-1');
    await rename(`${host.clientKey}.gone`, host.clientKey);
    await only();
  });

  test('the timer of the check is stopped', async () => {
    checks = false;
    await checking;
    await only('DriftCheckMissing mon-1');
    checks = true;
    checking = keepChecking();
    await only();
  });
});
