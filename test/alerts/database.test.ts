import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { postgresExporter } from '../monitoring-programs.mjs';
import { type Postgres, startPostgres } from '../postgres.ts';
import { onlyFire, type Prometheus, start, startPrometheus } from './prometheus.ts';

const address = '127.0.9.104';
/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;
let server: Postgres;
let exporter: ReturnType<typeof start>;
let monitor: Prometheus;

async function targets() {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], address],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
    [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const watched = hosts.filter(({ name }) => name === 'db-1');
  const [host] = watched;
  if (!host) throw new Error('no host');
  return { vars: host.vars, hosts: watched };
}

/** A client that gives the server these statements. It ends with them. */
function client(...statements: string[]): Promise<unknown> {
  const words = ['-XqAt', '-d', 'postgres', ...statements.flatMap((each) => ['-c', each])];
  const env = { ...process.env, ...server.environment };
  const program = spawn('psql', words, { env, stdio: 'ignore' });
  return new Promise((resolve) => program.once('exit', resolve));
}

const only = (...alerts: string[]) => onlyFire(monitor, alerts, patience);

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync(postgresExporter))('alerts of a database', () => {
  beforeAll(async () => {
    server = await startPostgres('/var/tmp', { fsync: 'off', deadlock_timeout: '10ms' });
    const { socket, user } = server;
    const name = `postgresql:///postgres?host=${socket}&user=${user}&sslmode=disable`;
    const words = ['DATA_SOURCE_NAME', `${name}`];
    exporter = start('env', [words.join('='), postgresExporter, `--web.listen-address=${address}:9187`]);
  });
  afterAll(async () => {
    await monitor?.stop();
    await exporter?.stop();
    await server?.stop();
  });

  test('a database at rest has no alert', async () => {
    // One hour is half a minute here.
    const sooner = { '> 3600': '> 30' };
    monitor = await startPrometheus({ ...(await targets()), groups: ['database'], sooner });
    await until(async () => (await monitor.query('pg_up == 1')).length === 1, 'it answers', patience);
    await only();
  });

  test('a transaction stays open', async () => {
    const reader = client('begin', 'select txid_current()', 'select pg_sleep(600)');
    await only('LongTransaction db-1');
    server.sql(
      'postgres',
      "select pg_terminate_backend(pid) from pg_stat_activity where query ~ '^select pg_sleep'",
    );
    await reader;
    await only();
  });

  test('two programs lock the same rows in another order', async () => {
    server.sql('postgres', 'create table rows (id int primary key); insert into rows values (1), (2)');
    const lock = (id: number) => `select * from rows where id = ${id} for update`;
    for (let time = 0; time < 8; time += 1) {
      const turns = [
        [1, 2],
        [2, 1],
      ].map(([first = 0, second = 0]) =>
        client('begin', lock(first), 'select pg_sleep(1)', lock(second), 'commit'),
      );
      await Promise.all(turns);
    }
    await only('Deadlocks db-1');
    await only();
  });

  test('the server ends', async () => {
    process.kill(server.pid, 'SIGKILL');
    await only('DatabaseDown db-1');
  });
});
