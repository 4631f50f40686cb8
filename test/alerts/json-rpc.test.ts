import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { get, until } from '../gateway/gateway.ts';
import { goEnvironment, newerGo, quickly } from '../go.ts';
import { installMissing } from '../install-missing.ts';
import { prometheus } from '../monitoring-programs.mjs';
import { type Postgres, startPostgres } from '../postgres.ts';
import { onlyFire, type Prometheus, start, startPrometheus } from './prometheus.ts';

// The server of JSON-RPC of the lab's stand-in, which counts its own requests as the node's source
// does (lab/standins/node/README.md), with a real state database.

/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;
const address = '127.0.9.140';
const jsonRpc = 28423;
const databasePort = 28432;
const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] });

let folder: string;
let database: Postgres;
let server: ReturnType<typeof start>;
let monitor: Prometheus;
/** What clients send, one after the other. */
let sent = call;
let asks = true;
let asking: Promise<void> | undefined;

/** Builds the stand-in with its server alone, from the libraries of Debian's packages. */
async function build(): Promise<string> {
  installMissing(
    ['lib/pq', 'gorilla/websocket', 'BurntSushi/toml'].map((name) => [
      `/usr/share/gocode/src/github.com/${name}`,
      `golang-github-${name.toLowerCase().replace('/', '-')}-dev`,
    ]),
  );
  const standins = join(import.meta.dirname, '../../lab/standins');
  const source = join(folder, 'node');
  await cp(join(standins, 'node'), source, { recursive: true });
  await cp(join(import.meta.dirname, 'json-rpc/serve_test.go'), join(source, 'serve_test.go'));
  const libraries = ['lib/pq@v1.10.7', 'lib/pq@v1.10.7/oid', 'lib/pq@v1.10.7/scram'];
  const others = ['BurntSushi/toml@v1.2.0', 'BurntSushi/toml@v1.2.0/internal', 'gorilla/websocket@v1.5.0'];
  const modules = [...others, ...libraries].map((name) => `github.com/${name}`);
  execFileSync('sh', [join(standins, 'vendor.sh'), ...modules], { cwd: source });
  const env = { ...process.env, ...goEnvironment, GOFLAGS: '-mod=vendor -buildvcs=false' };
  // As the node's Makefile does: the linker refuses its memsize otherwise.
  const linked = '-ldflags=-s -w -checklinkname=0';
  const words = ['test', '-vet=off', '-c', ...quickly, linked, '-o', 'serve', '.'];
  execFileSync(newerGo(), words, { cwd: source, env, stdio: 'pipe' });
  return join(source, 'serve');
}

async function ask(): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  return (await get({ address, port: jsonRpc, body: sent, headers })).text;
}

const only = (...alerts: string[]) =>
  onlyFire(
    monitor,
    alerts.map((alert) => `${alert} rpc-1`),
    patience,
  );

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync(prometheus))('alerts of json-rpc', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'json-rpc-alerts-'));
    const settings = { listen_addresses: '127.0.0.1', port: String(databasePort), fsync: 'off' };
    database = await startPostgres('/var/tmp', settings);
    database.sql('postgres', 'create database state_db');
    database.sql(
      'state_db',
      'create schema state; create table state.l2block (block_num bigint); insert into state.l2block values (7)',
    );
    const environment = {
      STATE_DB_PORT: String(databasePort),
      JSON_RPC: `${address}:${jsonRpc}`,
      METRICS: `${address}:9092`,
    };
    const settingsOf = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    server = start('env', [...settingsOf, await build(), '-test.run', '^TestServe$', '-test.timeout', '0']);
    await until(
      async () => JSON.parse(await ask()).result === '0x7',
      () => server.log(),
      60,
    );
    asking = (async () => {
      while (asks) {
        await ask();
        await sleep(50);
      }
    })();
  });
  afterAll(async () => {
    asks = false;
    await asking;
    await monitor?.stop();
    await server?.stop();
    await database?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('requests are answered', async () => {
    const inventory = await labDeployment([
      [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
      [['groups', 'rpc'], { 'rpc-1': { address } }],
      [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
    ]);
    const hosts = (await loadDeployment(inventory)).hosts.filter(({ name }) => name === 'rpc-1');
    const [host] = hosts;
    if (!host) throw new Error('no host');
    monitor = await startPrometheus({ vars: host.vars, hosts, groups: ['containers'] });
    const counted = async () => (await monitor.query('rate(jsonrpc_request_duration_count[10s]) > 5')).length;
    await until(async () => (await counted()) === 1, 'requests are counted', patience);
    await only();
  });

  test('clients send what is no JSON', async () => {
    sent = '{';
    await only('JsonRpcErrors');
    expect(await ask()).toBe('invalid json object request body\n');
    sent = call;
    await only();
  });

  test('the state database takes 1.3 s for each answer', async () => {
    database.sql(
      'state_db',
      'begin; alter table state.l2block rename to blocks; create view state.l2block as select blocks.* from state.blocks, (select pg_sleep(1.3)) slow; commit',
    );
    await only('JsonRpcSlow');
    expect(JSON.parse(await ask()).result).toBe('0x7');
    database.sql('state_db', 'create or replace view state.l2block as select * from state.blocks');
    await only();
  });
});
