import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { prometheus } from '../monitoring-programs.mjs';
import { type Postgres, startPostgres } from '../postgres.ts';
import { type HostMetrics, startHostMetrics } from './host-metrics.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';

const address = '127.0.9.111';
/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;

let folder: string;
let server: Postgres;
let replica: Postgres;
let exporter: HostMetrics;
let monitor: Prometheus;
let measures = true;
let measuring: Promise<void> | undefined;

/** A Docker engine in which state-db runs, for the script that measures. */
async function engineWith({ pid }: Postgres): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const state = {
    Status: 'running',
    Pid: pid,
    RestartCount: 0,
    ExitCode: 0,
    StartedAt: new Date().toISOString(),
  };
  const said = JSON.stringify({ State: state, Image: 'sha256:1', Config: { Image: 'postgres:15' } });
  await writeFile(join(bin, 'curl'), `#!/bin/sh\necho '${said}'\n`);
  await writeFile(join(bin, 'systemctl'), '#!/bin/sh\n');
  for (const name of ['curl', 'systemctl']) await chmod(join(bin, name), 0o755);
  return bin;
}

async function startReplica(): Promise<Postgres> {
  return startPostgres('/var/tmp', { fsync: 'off', hot_standby_feedback: 'on' }, (data) => {
    const words = ['-h', server.socket, '-U', server.user, '-D', data, '--write-recovery-conf', '-c', 'fast'];
    execFileSync(
      'setpriv',
      ['--reuid=postgres', '--regid=postgres', '--init-groups', 'pg_basebackup', ...words],
      {
        cwd: data,
        stdio: 'pipe',
      },
    );
  });
}

async function targets() {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
    [['groups', 'replica'], { 'replica-1': { address } }],
    [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
    [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
  ]);
  const { hosts } = await loadDeployment(inventory, { environment: { REPLICA_PASSWORD: 'replica.Pw~6' } });
  const host = hosts.find(({ name }) => name === 'replica-1');
  if (!host) throw new Error('no replica');
  return { vars: host.vars, hosts: [host] };
}

const fires = (alert: string) =>
  until(async () => (await monitor.firing()).includes(`${alert} replica-1`), `${alert} fires`, patience);
const nothingFires = () =>
  until(async () => (await monitor.firing()).length === 0, 'no alert fires', patience);

/** Queries on the replica that read a table, and stay open. They end with an error when cancelled. */
async function readersOf(table: string, count: number): Promise<readonly Promise<unknown>[]> {
  const env = { ...process.env, ...replica.environment };
  const statements = ['begin', `select count(*) from ${table}`, 'select pg_sleep(600)'];
  const words = ['-XqAt', '-d', 'postgres', ...statements.flatMap((each) => ['-c', each])];
  const readers = Array.from({ length: count }, () => {
    const client = spawn('psql', words, { env, stdio: 'ignore' });
    return new Promise((resolve) => client.once('exit', resolve));
  });
  const sleeping = "select count(*) from pg_stat_activity where query ~ '^select pg_sleep'";
  await until(async () => replica.sql('postgres', sleeping) === String(count), 'they read', patience);
  return readers;
}

/** The replica has the table. */
async function withTable(name: string): Promise<void> {
  server.sql('postgres', `create table ${name} (data text)`);
  const isThere = `select to_regclass('${name}')`;
  await until(async () => replica.sql('postgres', isThere) === name, `${name} is there`, patience);
}

/** `alter system` of the replica, and what it had. */
function set(name: string, value?: string): void {
  const change = value === undefined ? `reset ${name}` : `set ${name} = '${value}'`;
  replica.sql('postgres', `alter system ${change}; select pg_reload_conf()`);
}

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync(prometheus))('alerts of a replica', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'replica-alerts-'));
    server = await startPostgres('/var/tmp', { fsync: 'off' });
    replica = await startReplica();
    const settings = {
      CONTAINERS: 'state-db',
      STATE_USER: server.user,
      STATE_DATABASE: 'postgres',
      REPLICA: 'yes',
    };
    const PATH = `${await engineWith(replica)}:${process.env.PATH}`;
    exporter = await startHostMetrics(folder, address, settings, { ...replica.environment, PATH });
    measuring = (async () => {
      while (measures) {
        await exporter.measure();
        await sleep(1000);
      }
    })();
  });
  afterAll(async () => {
    measures = false;
    await measuring;
    await monitor?.stop();
    await exporter?.stop();
    await replica?.stop();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('one that follows has no alert', async () => {
    monitor = await startPrometheus({ ...(await targets()), groups: ['replica'] });
    const receives = async () => (await monitor.query('rpc_node_replica_receiving == 1')).length === 1;
    await until(receives, 'it receives', patience);
    expect(await monitor.query('rpc_node_replica_behind_bytes')).toHaveLength(1);
    expect(await monitor.query('rpc_node_replica_cancelled_queries_total')).toMatchObject([{ value: 0 }]);
    await nothingFires();
  });

  test('its way to the server is cut', async () => {
    set('primary_conninfo', 'host=/nowhere');
    await fires('ReplicaNotReceiving');
    set('primary_conninfo', `host=${server.socket} user=${server.user}`);
    await nothingFires();
  });

  test('a query keeps it from replaying', async () => {
    await withTable('read_here');
    set('max_standby_streaming_delay', '-1');
    const [reader] = await readersOf('read_here', 1);
    server.sql('postgres', 'drop table read_here');
    server.sql(
      'postgres',
      "select pg_logical_emit_message(false, 'x', repeat('x', 1000000)) from generate_series(1, 80)",
    );
    await fires('ReplicaBehind');
    replica.sql(
      'postgres',
      "select pg_terminate_backend(pid) from pg_stat_activity where query ~ '^select pg_sleep'",
    );
    await reader;
    await nothingFires();
  });

  test('it cancels queries that are in its way', async () => {
    await withTable('read_by_many');
    set('max_standby_streaming_delay', '0');
    const readers = await readersOf('read_by_many', 8);
    server.sql('postgres', 'drop table read_by_many');
    await Promise.all(readers);
    await fires('ReplicaCancelsQueries');
    await nothingFires();
  });
});
