import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe } from '../../lib/engine/resource/network/http.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { type Choice, startChoice } from '../gateway/layer1/choice.ts';
import { provider } from '../gateway/layer1/provider.ts';
import { prometheus } from '../monitoring-programs.mjs';
import { type Postgres, startPostgres } from '../postgres.ts';
import { type HostMetrics, startHostMetrics } from './host-metrics.ts';
import { onlyFire, type Prometheus, startPrometheus } from './prometheus.ts';

/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;
const addresses = { database: '127.0.9.100', rpc: '127.0.9.1' };

/** A JSON-RPC server with a chain that the test moves: a block each two seconds until `newest`. */
interface Chain {
  readonly url: string;
  newest: number;
  /** Seconds since the newest block was made. */
  age: number;
  /** From this block on its hashes are its own. */
  forkedAt: number;
  /** Whether its prover does. */
  executes: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
}

async function chainAt(port: number): Promise<Chain> {
  let server: Server | undefined;
  const hex = (number: number) => `0x${number.toString(16)}`;
  const chain: Chain = {
    url: `http://127.0.9.90:${port}`,
    newest: 1000,
    age: 2,
    forkedAt: Number.POSITIVE_INFINITY,
    executes: true,
    async start() {
      server = createServer(async (request, response) => {
        const { method, params } = JSON.parse(await text(request)) as { method: string; params: string[] };
        const number = params[0] === 'latest' ? chain.newest : Number(params[0]);
        const timestamp = hex(Math.floor(Date.now() / 1000) - chain.age - 2 * (chain.newest - number));
        const hash = `0x${number >= chain.forkedAt ? 'f' : 'a'}${number}`;
        const block = number > chain.newest ? null : { number: hex(number), timestamp, hash };
        const results: Readonly<Record<string, unknown>> = {
          eth_blockNumber: hex(chain.newest),
          eth_call: '0x',
        };
        const answer =
          method === 'eth_call' && !chain.executes
            ? { error: { code: -32000, message: 'failed to execute the unsigned transaction' } }
            : { result: results[method] ?? block };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
      });
      await new Promise<void>((resolve) => server?.listen(port, '127.0.9.90', () => resolve()));
    },
    async stop() {
      server?.closeAllConnections();
      await new Promise((resolve) => server?.close(resolve));
    },
  };
  await chain.start();
  return chain;
}

let folder: string;
let server: Postgres;
let sequencer: Chain;
let own: Chain;
let layer1: Chain;
/** Two providers of layer 1, and the HAProxy that chooses one. */
const providers = [provider(28_601), provider(28_602)] as const;
let choice: Choice;
let exporters: readonly HostMetrics[] = [];
let monitor: Prometheus;
let measures = true;
let measuring: Promise<unknown> | undefined;

/** The words of sync in Docker's log. */
const says = (words: string) =>
  writeFile(join(folder, 'log'), `${new Date().toISOString().replace('Z', '000000Z')} ${words}\n`);

/** A Docker engine in which state-db and sync run, for the script that measures. */
async function engineWith({ pid }: Postgres): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const StartedAt = new Date(Date.now() - 3_600_000).toISOString();
  const state = { Status: 'running', Pid: pid, RestartCount: 0, ExitCode: 0, StartedAt };
  const said = JSON.stringify({ State: state, Image: 'sha256:1', Config: { Image: 'image' } });
  await writeFile(
    join(bin, 'curl'),
    `#!/bin/sh
case $* in
  *docker.sock*/logs*) cat '${folder}/log' ;;
  *docker.sock*) printf '%s\\n' '${said}' '${said}' ;;
  *) exec /usr/bin/curl "$@" ;;
esac
`,
  );
  await writeFile(join(bin, 'systemctl'), '#!/bin/sh\n');
  for (const name of ['curl', 'systemctl']) await chmod(join(bin, name), 0o755);
  return bin;
}

async function startExporter(
  group: 'database' | 'rpc',
  settings: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>>,
): Promise<HostMetrics> {
  const of = join(folder, group);
  await mkdir(of);
  await writeFile(join(of, 'probe'), probe, { mode: 0o755 });
  const both = { SEQUENCER: sequencer.url, ...settings };
  return startHostMetrics(of, addresses[group], both, environment);
}

async function targets() {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], addresses.database],
    [['groups', 'rpc'], { 'rpc-1': { address: addresses.rpc } }],
    [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const watched = hosts.filter(({ name }) => name !== 'mon-1');
  const [host] = watched;
  if (!host) throw new Error('no host');
  return { vars: host.vars, hosts: watched };
}

const fires = (...alerts: string[]) =>
  until(
    async () => {
      const all = await monitor.firing();
      return alerts.every((alert) => all.includes(alert));
    },
    `${alerts.join(', ')}`,
    patience,
  );
/** Exactly these fire. */
const only = (...alerts: string[]) => onlyFire(monitor, alerts, patience);

/** The newest blocks of the state database: those of the own chain, written some minutes ago. */
function store(): void {
  const made = `now() - interval '${own.age} s'`;
  server.sql(
    'postgres',
    `truncate state.l2block; insert into state.l2block select n, '0xa' || n, ${made}, now() - interval '200 s' from generate_series(${own.newest - 5}, ${own.newest}) n`,
  );
}

/** Installed by test/all.mjs. */
const programs = [prometheus, '/usr/sbin/haproxy'];

describe.skipIf(!programs.every((path) => existsSync(path)))('alerts of the chain', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chain-alerts-'));
    [sequencer, own, layer1] = await Promise.all([chainAt(28501), chainAt(28502), chainAt(28503)]);
    server = await startPostgres('/var/tmp', { fsync: 'off' });
    server.sql(
      'postgres',
      'create schema state; create table state.l2block (block_num bigint primary key, block_hash text, received_at timestamptz, created_at timestamptz)',
    );
    store();
    await Promise.all(providers.map((each) => each.start()));
    choice = await startChoice(
      providers.map(({ port }) => `http://127.0.0.1:${port}/`),
      // One that answers again is used again sooner.
      (text) =>
        text.replace('longest_probation, soon = 60, 960, 600', 'longest_probation, soon = 6, 96, 600'),
    );
    await says('INFO synchronizer/synchronizer.go:301 Synced!');
    const PATH = `${await engineWith(server)}:${process.env.PATH}`;
    const database = {
      CONTAINERS: 'state-db sync',
      STATE_USER: server.user,
      STATE_DATABASE: 'postgres',
      PROVIDERS: `${choice.url}/providers`,
    };
    exporters = [
      await startExporter('database', { ...database, LAYER1: layer1.url }, { ...server.environment, PATH }),
      await startExporter('rpc', { OWN: own.url }, {}),
    ];
    measuring = Promise.all(
      exporters.map(async (exporter) => {
        while (measures) {
          // It is asked once a minute.
          await rm(join(folder, 'database/state/layer1'), { force: true });
          await exporter.measure();
          await sleep(2000);
        }
      }),
    );
  });
  afterAll(async () => {
    measures = false;
    await measuring;
    await monitor?.stop();
    for (const exporter of exporters) await exporter.stop();
    for (const chain of [sequencer, own, layer1]) await chain?.stop();
    await choice?.kill();
    await Promise.all(providers.map((each) => each.stop()));
    // A halted server would not end.
    if (server) process.kill(server.pid, 'SIGCONT');
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('hosts that follow the sequencer have no alert', async () => {
    monitor = await startPrometheus({ ...(await targets()), groups: ['chain'] });
    const same = async () => (await monitor.query('rpc_node_hash_same == 1')).length === 2;
    await until(same, 'both have the hash of the sequencer', patience);
    await only();
  });

  test('layer 1 is away, and alone', async () => {
    await layer1.stop();
    await only('Layer1Away db-1');
  });

  test('one of two providers of layer 1 is away, too', async () => {
    await providers[1].stop();
    await only('Layer1Away db-1', 'Layer1ProvidersFew db-1');
    await providers[1].start();
    await only('Layer1Away db-1');
  });

  test('another block: the fork is reported while layer 1 is away, too', async () => {
    own.forkedAt = 990;
    await only('ChainForked rpc-1', 'Layer1Away db-1');
    own.forkedAt = Number.POSITIVE_INFINITY;
    await layer1.start();
    await only();
  });

  test('blocks come, and fewer than the sequencer makes', async () => {
    own.newest = 970;
    await only('ChainBehind rpc-1');
  });

  test('blocks do not come any more', async () => {
    sequencer.newest = 1100;
    await fires('ChainStale db-1', 'ChainStale rpc-1');
    own.newest = 1100;
    store();
    await only();
  });

  test('the sequencer answers, and makes no block', async () => {
    for (const chain of [sequencer, own]) chain.age = 700;
    await only('SequencerStill db-1', 'SequencerStill rpc-1');
    for (const chain of [sequencer, own]) chain.age = 2;
    await only();
  });

  test('the sequencer is away, and so is a JSON-RPC', async () => {
    await sequencer.stop();
    await only('SequencerAway db-1', 'SequencerAway rpc-1');
    await own.stop();
    await only('JsonRpcSilent rpc-1', 'SequencerAway db-1', 'SequencerAway rpc-1');
    await Promise.all([sequencer.start(), own.start()]);
    await only();
  });

  test('JSON-RPC answers blocks, and its prover executes nothing', async () => {
    own.executes = false;
    await only('JsonRpcExecutesNothing rpc-1');
    own.executes = true;
    await only();
  });

  test('the synchronizer halts', async () => {
    const place = 'synchronizer/synchronizer.go:700';
    await says(`ERROR ${place} halting sync: fatal error: trusted state differs`);
    await only('SynchronizerHalted db-1');
    await says(`INFO ${place} Synced!`);
    await only();
  });

  test('the state database ends', async () => {
    process.kill(server.pid, 'SIGSTOP');
    await only('StateDatabaseSilent db-1');
    process.kill(server.pid, 'SIGCONT');
    await only();
    expect(server.sql('postgres', 'select count(*) from state.l2block')).toBe('6');
  });
});
