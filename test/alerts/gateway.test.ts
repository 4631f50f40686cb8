import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import type { RenderContext } from '../../lib/node/render/render-context.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { type Gateway, get, startGateway, until } from '../gateway/gateway.ts';
import { type RpcHost, rpcHost } from '../gateway/rpc-host.ts';
import { opcodes, openWebSocket } from '../gateway/web-socket.ts';
import { prometheus } from '../monitoring-programs.mjs';
import { type HostMetrics, startHostMetrics } from './host-metrics.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';

const rpcPorts = { http: 28423, websocket: 28433 };
const ports = { http: 28400, websocket: 28401, metrics: 28402, peers: 28403 };
const names = ['rpc-1', 'rpc-2'];
const address = '127.0.9.101';
const provider = { address: '127.0.9.50', port: 28450 };
/** Requests of one client in a second. */
const limit = 20;
/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 120;

/** @param heavy what the last RPC host has alone, and nothing else; none by default */
async function contextOf(heavy: readonly string[] = []): Promise<RenderContext> {
  process.env.GATEWAY_FALLBACK = `http://${provider.address}:${provider.port}/`;
  const tls = { certificate: certificate(), key: `file:${join(folder, 'key')}`, names: ['rpc.example'] };
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [
      ['groups', 'rpc'],
      Object.fromEntries(names.map((name, at) => [name, { address: `127.0.9.${at + 1}` }])),
    ],
    ...(heavy.length === 0 ? [] : [[['groups', 'rpc', 'rpc-2', 'vars'], { methods: 'heavy' }] as const]),
    [['groups', 'gateway'], { 'gw-1': { address } }],
    [['groups', 'monitor'], { 'mon-1': { address: '127.0.9.102' } }],
    [['vars', 'ports'], { rpc_http: rpcPorts.http, rpc_websocket: rpcPorts.websocket }],
    [
      ['vars', 'gateway'],
      { ...ports, clients: { requests: limit }, methods: { heavy }, fallback: 'env:GATEWAY_FALLBACK', tls },
    ],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  return { host, vars: host.vars, hosts };
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

let folder: string;
let context: RenderContext;
let gateway: Gateway;
let monitor: Prometheus;
let exporter: HostMetrics;
/** It does not listen by itself. */
const providers: Server = createServer((_, response) => {
  response.end('{"jsonrpc":"2.0","id":1,"result":"provider"}');
});
const hosts: RpcHost[] = names.map((name, at) => rpcHost(name, `127.0.9.${at + 1}`, rpcPorts));

const fires = (alert: string) =>
  until(async () => (await monitor.firing()).includes(alert), `${alert} fires`, patience);
/** Failures of three days are not over when their cause is. */
const nothingFires = async () => {
  let last: readonly string[] = [];
  const isSilent = async () => {
    last = (await monitor.firing()).filter((alert) => !/^BudgetBurns(Slowly)? /.test(alert));
    return last.length === 0;
  };
  await until(isSilent, () => `all is well: ${last.join(', ')}`, patience);
};

const certificate = () => join(folder, 'rpc-node/gateway/tls.pem');

/** A certificate in place of the gateway's, and metrics of the host as its timer measures them. */
async function certificateEndsIn(days: number): Promise<void> {
  const subject = ['-subj', '/CN=rpc.example', '-addext', 'subjectAltName=DNS:rpc.example'];
  const out = ['-keyout', join(folder, 'key'), '-out', certificate(), '-days', String(days)];
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...out];
  execFileSync('openssl', words, { stdio: 'pipe' });
  await chmod(join(folder, 'key'), 0o600);
  await exporter.measure();
}

/** Installed by test/all.mjs. */
describe.skipIf(![prometheus, '/usr/sbin/haproxy'].every((path) => existsSync(path)))('alerts', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'alerts-'));
    await mkdir(join(folder, 'rpc-node/gateway'), { recursive: true });
    exporter = await startHostMetrics(folder, address, { CERTIFICATES: certificate() });
    await certificateEndsIn(90);
    await Promise.all(hosts.map((host) => host.start()));
  });
  afterAll(async () => {
    await monitor?.stop();
    await exporter?.stop();
    await gateway?.kill();
    await Promise.all(hosts.map((host) => host.kill()));
    providers.closeAllConnections();
    providers.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('a gateway that is well is watched, and has no alert', async () => {
    context = await contextOf();
    gateway = await startGateway(context);
    const { host, vars } = context;
    monitor = await startPrometheus({
      vars,
      hosts: [host],
      groups: ['gateway'],
      certificate: certificate(),
    });
    const areAsked = async () =>
      (await monitor.query('{__name__=~"up|probe_success",job=~"gateway|host|probe"} == 1')).length === 4;
    await until(areAsked, 'all are asked', patience);
    const serving = await monitor.query('haproxy_backend_active_servers{proxy="rpc_http"}');
    expect(serving).toMatchObject([{ metric: { instance: 'gw-1', group: 'gateway' }, value: 2 }]);
    const up = await monitor.query('haproxy_server_status{proxy="rpc_http",state="UP"}');
    expect(up.map(({ metric, value }) => [metric.server, value]).sort()).toEqual([
      ['rpc-1', 1],
      ['rpc-2', 1],
    ]);
    expect(await monitor.query('rpc_node_objective')).toMatchObject([{ value: 0.999 }]);
    await nothingFires();
    expect(await monitor.firing()).toEqual([]);
  });

  test('every panel of the dashboard shows something', async () => {
    const file = join(import.meta.dirname, '../../templates/monitor/dashboards/gateway.json');
    const { panels } = JSON.parse(await readFile(file, 'utf8')) as Dashboard;
    const shown = panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => [title, expr.replaceAll('$instance', '.*')] as const),
    );
    expect(shown.length).toBeGreaterThan(16);
    let empty: string[] = [];
    const trusts = await readFile(certificate(), 'utf8');
    const isShown = async () => {
      // One that is answered, and one that is refused.
      for (const body of [{ jsonrpc: '2.0', id: 1, method: 'who', params: [] }, '{'])
        await get({ port: ports.http, body, trusts });
      const found = await Promise.all(shown.map(([, expr]) => monitor.query(expr)));
      // No number is none, too: of a share of nothing, or of a counter that this HAProxy has not.
      const isEmpty = (at: number) => !found[at]?.some(({ value }) => Number.isFinite(value));
      empty = shown.flatMap(([title], at) => (isEmpty(at) ? [title] : []));
      return empty.length === 0;
    };
    await until(isShown, () => `every panel shows something: ${empty.join(', ')}`, patience);
  });

  test('a client is over its limit', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
    const trusts = await readFile(certificate(), 'utf8');
    const ask = () => get({ port: ports.http, body, trusts });
    let sends = true;
    const flood = (async () => {
      while (sends) await Promise.all(Array.from({ length: limit }, ask));
    })();
    await fires('GatewayLimitsHit gw-1').finally(() => {
      sends = false;
    });
    await flood;
    await nothingFires();
  });

  test('messages of a WebSocket are over the limit', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'who', params: [] });
    const client = await openWebSocket(ports.websocket, { trusts: await readFile(certificate(), 'utf8') });
    expect(client.status).toBe(101);
    let [sends, answers] = [true, 0];
    const flood = (async () => {
      while (sends) {
        for (let each = 0; each < limit; each += 1) client.say(body);
        for (let each = 0; each < limit; ) {
          const frame = await client.next();
          if (!frame) throw new Error('the WebSocket has ended');
          if (frame.isLast && frame.opcode < opcodes.close) each += 1;
        }
        answers += limit;
        await sleep(100);
      }
    })();
    await fires('GatewayLimitsHit gw-1').finally(() => {
      sends = false;
    });
    await flood;
    client.socket.destroy();
    expect(answers).toBeGreaterThan(limit);
    await nothingFires();
  });

  test('RPC hosts close connections without an answer, also those of a client that keeps its own', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
    const trusts = await readFile(certificate(), 'utf8');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let [sends, unanswered] = [true, 0];
    const ask = async () => {
      while (sends) {
        await get({ port: ports.http, body, trusts, agent }).catch(() => {
          unanswered += 1;
        });
        // Below the limit of a client.
        await sleep(1000 / limit);
      }
    };
    const asking = ask();
    const counted = 'rate(haproxy_backend_sessions_total{proxy="rpc_http"}[10s]) > 5';
    await until(async () => (await monitor.query(counted)).length > 0, 'requests are counted', patience);
    expect(unanswered).toBe(0);
    for (const host of hosts) host.breaksOff = true;
    await fires('GatewayLosesRequests gw-1').finally(() => {
      sends = false;
    });
    await asking;
    expect(unanswered).toBeGreaterThan(0);
    for (const host of hosts) host.breaksOff = false;
    await nothingFires();
  });

  test('answers are slow', async () => {
    for (const host of hosts) Object.assign(host, { slowMethod: 'eth_blockNumber', delay: 1300 });
    await fires('ClientsWait gw-1');
    for (const host of hosts) host.delay = 0;
    await nothingFires();
  });

  test('a certificate ends soon', async () => {
    const ends = async () =>
      (await monitor.query('probe_ssl_earliest_cert_expiry - time() < 14 * 86400')).length;
    await certificateEndsIn(10);
    await fires('GatewayCertificate gw-1');
    // HAProxy still sends the earlier one.
    expect(await ends()).toBe(0);
    await gateway.reload(await contextOf());
    await until(async () => (await ends()) === 1, 'what clients get ends soon', patience);
    await certificateEndsIn(90);
    await gateway.reload(await contextOf());
    await nothingFires();
  });

  test('all RPC hosts are drained, and clients get no answer', async () => {
    for (const name of names) await gateway.drain(name, 'new disks');
    await fires('NobodyServes gw-1');
    for (const alert of ['BudgetBurnsFast', 'BudgetBurns', 'BudgetBurnsSlowly']) await fires(`${alert} gw-1`);
    await fires('RpcHostOut rpc-1');
    expect(await monitor.firing()).not.toContain('GatewayDown gw-1');
    for (const name of names) await gateway.undrain(name);
    await nothingFires();
  });

  test('the RPC host for heavy methods is drained, and a provider answers them', async () => {
    await new Promise<void>((resolve) => providers.listen(provider.port, provider.address, resolve));
    await gateway.reload(await contextOf(['debug_*']));
    const trusts = await readFile(certificate(), 'utf8');
    const ask = async () => {
      // Below the limit of a client.
      await sleep(1000 / limit);
      const body = { jsonrpc: '2.0', id: 1, method: 'debug_who', params: [] };
      return JSON.parse((await get({ port: ports.http, body, trusts })).text).result;
    };
    expect(await ask()).toMatchObject({ host: 'rpc-2' });
    await nothingFires();
    await gateway.drain('rpc-2', 'new disks');
    await until(async () => (await ask()) === 'provider', 'the provider answers');
    let firing: readonly string[] = [];
    const isUsed = async () => {
      await ask();
      firing = await monitor.firing();
      return firing.includes('FallbackInUse gw-1');
    };
    await until(isUsed, 'FallbackInUse fires', patience);
    expect(firing.filter((alert) => !/^BudgetBurns(Slowly)? /.test(alert))).toEqual(['FallbackInUse gw-1']);
    await gateway.undrain('rpc-2');
    await nothingFires();
    await gateway.reload(await contextOf());
  });

  test('a gateway is killed', async () => {
    await gateway.kill();
    await fires('GatewayDown gw-1');
    gateway = await startGateway(await contextOf());
    await nothingFires();
  });

  test('a gateway gives no figures of its clients', async () => {
    await gateway.kill();
    gateway = await startGateway(await contextOf(), (text) => text.replace(/^.*lua\.figures.*\n/m, ''));
    await fires('GatewayFiguresGone gw-1');
    expect(await monitor.firing()).not.toContain('GatewayDown gw-1');
    await gateway.kill();
    gateway = await startGateway(await contextOf());
    await nothingFires();
  });

  // Last: nothing starts it again.
  test('blackbox_exporter does not run', async () => {
    await monitor.stopProber();
    await fires('ProberGone gw-1');
  });
});
