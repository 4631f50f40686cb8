import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { metricsProgram } from '../../lib/node/monitor/textfiles.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { type Copy, copyOf } from '../kinds/backup-copy.ts';
import { type Repository, startRepository } from '../kinds/backup-repository.ts';
import { nodeExporter, prometheus } from '../monitoring-programs.mjs';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { onlyFire, type Prometheus, start, startPrometheus } from './prometheus.ts';

// The real PostgreSQL and Barman, judged by the backup host's own script.

/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;
const address = '127.0.9.130';
/** Hours after which a base backup is too old. */
const oldest = 49;

let folder: string;
let server: Repository;
let exporter: ReturnType<typeof start>;
let monitor: Prometheus;
let storage: Awaited<ReturnType<typeof startStorage>> | undefined;
/** The copy in the storage, once there is one. */
let copy: Copy | undefined;
let judges = true;
let runs = true;
let judging: Promise<void> | undefined;

async function targets() {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
    [['groups', 'backup'], { 'backup-1': { address } }],
    [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
    [['vars', 'backup'], { password: `file:${join(folder, 'password')}` }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const watched = hosts.filter(({ name }) => name === 'backup-1');
  const [host] = watched;
  if (!host) throw new Error('no host');
  return { vars: host.vars, hosts: watched };
}

/** The script of the backup host, as its timer runs it. */
async function judge(): Promise<void> {
  const { source } = server;
  const connection = `host=${source.socket} port=${source.port} user=${source.user} dbname=state_db`;
  const folders = [join(folder, 'textfiles'), join(folder, 'state')];
  const words = [server.repository, connection, ...folders, oldest, 0, copy?.notes ?? ''];
  const PATH = `${join(server.folder, 'bin')}:${process.env.PATH}`;
  const script = metricsProgram('base-backups', 'timeline', 'backup-check');
  await promisify(execFile)('sh', ['-c', script, 'backup-check', ...words.map(String)], {
    env: { ...process.env, PATH },
  });
}

const only = (...alerts: string[]) =>
  onlyFire(
    monitor,
    alerts.map((alert) => `${alert} backup-1`),
    patience,
  );

/** Segments of the write-ahead log in the repository, archived or not, in their order. */
async function segments(): Promise<string[]> {
  const folders = ['wals', 'streaming'].map((name) => join(server.repository, name));
  const all = await Promise.all(
    folders.map(async (each) => (await readdir(each, { recursive: true })).map((path) => join(each, path))),
  );
  const isSegment = (path: string) => /^[0-9A-F]{24}$/.test(basename(path));
  return all
    .flat()
    .filter(isSegment)
    .sort((one, other) => basename(one).localeCompare(basename(other)));
}

/** The process that receives the write-ahead log. */
const receiver = () =>
  Number(
    execFileSync('pgrep', ['-f', `pg_receivewal.*${server.folder}`], { encoding: 'utf8' }).split('\n')[0],
  );

/** Installed by test/all.mjs. */
describe.skipIf(![prometheus, nodeExporter].every((path) => existsSync(path)))('alerts of backups', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'backup-alerts-'));
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'textfiles'));
    await writeFile(join(folder, 'password'), 'backup.Pw~4\n', { mode: 0o600 });
    server = await startRepository();
    exporter = start(nodeExporter, [
      `--web.listen-address=${address}:9100`,
      '--collector.disable-defaults',
      '--collector.textfile',
      `--collector.textfile.directory=${join(folder, 'textfiles')}`,
    ]);
    judging = (async () => {
      while (runs) {
        if (judges) await judge();
        // A judgement takes half a second of a processor.
        await sleep(3500);
      }
    })();
  });
  afterAll(async () => {
    runs = false;
    await judging;
    await monitor?.stop();
    await exporter?.stop();
    await storage?.remove();
    await server?.end();
    await rm(folder, { recursive: true, force: true });
  });

  test('a repository without a base backup', async () => {
    monitor = await startPrometheus({
      ...(await targets()),
      groups: ['backup'],
      sooner: { '> 600': '> 20', '> 3600': '> 30' },
      faster: 60,
    });
    await only('BackupFailing', 'BackupOld');
    server.makeBackup();
    await only();
  });

  test('the log of the server does not arrive', async () => {
    process.kill(receiver(), 'SIGSTOP');
    server.source.sql(
      'state_db',
      "select pg_logical_emit_message(false, 'x', repeat('x', 1000000)) from generate_series(1, 300)",
    );
    await only('ArchiveBehind', 'BackupFailing');
    process.kill(receiver(), 'SIGCONT');
    await only();
  });

  test('a segment of the log is lost', async () => {
    const write = "select pg_logical_emit_message(false, 'x', 'x'); select pg_switch_wal()";
    for (let time = 0; time < 3; time += 1) server.source.sql('state_db', write);
    await until(async () => (await segments()).length > 3, 'the segments are here', patience);
    const lost = (await segments()).at(-2) ?? '';
    await rename(lost, join(folder, 'lost'));
    await only('ArchiveGap', 'BackupFailing');
    await rename(join(folder, 'lost'), lost);
    await only();
  });

  test('no base backup was made for three days', async () => {
    const [name = ''] = await readdir(join(server.repository, 'base'));
    const info = join(server.repository, 'base', name, 'backup.info');
    const fresh = await readFile(info, 'utf8');
    const then = new Date(Date.now() - 72 * 3_600_000)
      .toISOString()
      .replace('T', ' ')
      .replace('Z', '000+00:00');
    await writeFile(info, fresh.replaceAll(/^(begin|end)_time=.*$/gm, `$1_time=${then}`));
    await only('BackupFailing', 'BackupOld');
    await writeFile(info, fresh);
    await only();
  });

  test('nobody judges the backups', async () => {
    judges = false;
    await only('BackupFailing');
    judges = true;
    await only();
  });

  test('nobody ever judged the backups', async () => {
    judges = false;
    await rm(join(folder, 'textfiles/rpc_node_backup.prom'));
    await only('BackupFailing');
    judges = true;
    await only();
  });

  // Last: nothing is sent after it.
  test('the storage of the copy is away', async () => {
    await getStorageServer();
    storage = await startStorage();
    copy = copyOf(server, storage.storage());
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    await only();
    await storage.stop();
    let sends = true;
    const sending = (async () => {
      while (sends) await copy?.send();
    })();
    try {
      await only('BackupCopyOld');
      await storage.start();
      await only();
    } finally {
      sends = false;
      await sending;
    }
  });
});
