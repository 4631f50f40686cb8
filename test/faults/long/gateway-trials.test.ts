import { readdirSync, readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { RenderContext } from '../../../lib/node/render/render-context.ts';
import type { Changes } from '../../../lib/node/testing/lab-deployment.ts';
import { gatewayContext, ports, rpcPorts } from '../../gateway/fleet.ts';
import { type Gateway, get, startGateway, until } from '../../gateway/gateway.ts';
import { type RpcHost, rpcHost } from '../../gateway/rpc-host.ts';
import { carried, failures, type Load, quantile, startLoad } from '../gateway-load.ts';
import { measured } from '../measured.ts';

const names = ['rpc-1', 'rpc-2', 'rpc-3'];
const second = { http: 28210, websocket: 28211, metrics: 28212, peers: 28213 };
const addresses = (count: number) =>
  Array.from({ length: count }, (_, at) => `127.1.${Math.floor(at / 250)}.${(at % 250) + 1}`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const said = (load: Load) =>
  `${load.requests} requests, ${failures(load)}, ${load.lower.length} heights go back`;

/** Resident memory of HAProxy's workers. MB. */
function memory({ pid }: Gateway): number {
  const workers = readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/stat`, 'utf8').split(' ')[3] === String(pid);
    } catch {
      return false;
    }
  });
  const sizes = workers.map(
    (entry) => /VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${entry}/status`, 'utf8'))?.[1],
  );
  return Math.round(sizes.reduce((sum, size) => sum + Number(size), 0) / 1024);
}

/** Figures of a gateway in front of three RPC hosts; clients and hosts are one program of Node.js. */
describe('a gateway under load', () => {
  let hosts: RpcHost[];
  let gateways: Gateway[];
  let growth: NodeJS.Timeout;
  const contextOf = (own: object = {}, changes: Changes = []) =>
    gatewayContext(
      Object.fromEntries(names.map((name, at) => [name, { address: `127.0.7.${at + 1}` }])),
      { most_behind: 5, ...own },
      changes,
    );
  const start = async (context: RenderContext) => {
    const gateway = await startGateway(context);
    gateways.push(gateway);
    return gateway;
  };
  const serving = async (gateway: Gateway) =>
    (await gateway.fleet()).hosts.filter(({ serves }) => serves).length;

  beforeEach(async () => {
    gateways = [];
    hosts = names.map((name, at) => rpcHost(name, `127.0.7.${at + 1}`, rpcPorts));
    await Promise.all(hosts.map((host) => host.start()));
    // A block each second, which each host gets at another time, and answers that take 20 ms.
    for (const host of hosts) Object.assign(host, { slowMethod: 'eth_blockNumber', delay: 20 });
    let top = 1000;
    growth = setInterval(() => {
      top += 1;
      for (const [at, host] of hosts.entries()) {
        const height = top;
        setTimeout(() => {
          host.height = Math.max(host.height, height);
        }, at * 150);
      }
    }, 1000);
  });
  afterEach(async () => {
    clearInterval(growth);
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    await Promise.all(hosts.map((host) => host.kill()));
  });

  test('an RPC host is killed under load, and comes back', async ({ task }) => {
    const gateway = await start(await contextOf());
    const load = startLoad({ rate: 200, clients: addresses(100), ports: [ports.http] });
    await sleep(5000);
    const inFlight = load.pending;
    const killed = performance.now();
    await hosts[0]?.kill();
    await sleep(6000);
    await hosts[0]?.start();
    await until(async () => (await serving(gateway)) === 3, 'it is back', 60);
    await load.end();
    const p99 = quantile(load, 0.99, killed, killed + 6000);
    measured(task, `200 requests a second; ${inFlight} on their way; ${said(load)}; p99 ${p99}`);
    expect(load.failed.length).toBeLessThanOrEqual(inFlight);
    expect(load.lower).toEqual([]);
  });

  test('one of two gateways is killed under load', async ({ task }) => {
    const both: Changes = [
      [['groups', 'gateway', 'gw-2'], { address: '127.0.7.102', vars: { gateway: second } }],
    ];
    const context = await contextOf({}, both);
    const other = context.hosts.find(({ name }) => name === 'gw-2');
    if (!other) throw new Error('no gw-2');
    const first = await start(context);
    await start({ ...context, host: other, vars: other.vars });
    const load = startLoad({ rate: 200, clients: addresses(100), ports: [ports.http, second.http] });
    await sleep(8000);
    const inFlight = load.pending;
    gateways.shift();
    await first.kill();
    const killed = performance.now();
    await sleep(5000);
    await load.end();
    const p99 = quantile(load, 0.99, killed, killed + 5000);
    measured(task, `200 requests a second; ${inFlight} on their way; ${said(load)}; p99 ${p99}`);
    expect(load.failed.length).toBeLessThanOrEqual(inFlight);
    expect(load.lower).toEqual([]);
  });

  test('a provider answers while all RPC hosts are gone, and they take over again', async ({ task }) => {
    const provider = createServer((_, response) => {
      const result = `0x${(hosts[0]?.height ?? 0).toString(16)}`;
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
    });
    await new Promise<void>((resolve) => provider.listen(28400, '127.0.7.50', resolve));
    process.env.GATEWAY_FALLBACK = 'http://127.0.7.50:28400/';
    const gateway = await start(await contextOf({ fallback: 'env:GATEWAY_FALLBACK' }));
    const load = startLoad({ rate: 200, clients: addresses(100), ports: [ports.http] });
    await sleep(4000);
    const inFlight = load.pending;
    const gone = performance.now();
    await Promise.all(hosts.map((host) => host.kill()));
    await until(async () => load.byProvider.length > 0, 'the provider answers', 60);
    await sleep(5000);
    const back = performance.now();
    await Promise.all(hosts.map((host) => host.start()));
    await until(async () => (await serving(gateway)) === 3, 'all serve', 60);
    await sleep(5000);
    await load.end();
    await new Promise((resolve) => provider.close(resolve));
    const [first = 0, last = 0] = [load.byProvider[0], load.byProvider.at(-1)];
    const failing = load.failed.length > 0 ? (load.failed.at(-1)?.at ?? 0) - gone : 0;
    measured(
      task,
      `the provider answers after ${seconds(first - gone)}, the own hosts ${seconds(last - back)} after they are back; ${inFlight} on their way, ${said(load)}, the last one after ${seconds(failing)}`,
    );
    expect(first - gone).toBeLessThan(10_000);
    expect(failing).toBeLessThan(10_000);
    expect(load.lower).toEqual([]);
  });

  test('1,000 keys and 100,000 addresses of clients, and a reload with all of them', async ({ task }) => {
    const keys = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => {
        process.env[`GATEWAY_KEY_${at}`] = `${at}`.padStart(32, 'k');
        return [`client-${at}`, { key: `env:GATEWAY_KEY_${at}` }];
      }),
    );
    for (const host of hosts) host.delay = 0;
    const trusted = { addresses: ['127.1.0.0/16'], client_in: 'X-Forwarded-For' };
    const own = { keys, trusted, clients: { connections: 5000 } };
    const gateway = await start(await contextOf(own));
    const before = memory(gateway);
    let sent = 0;
    const one = async (client: number) => {
      const headers = {
        'x-forwarded-for': `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`,
        ...(client % 2 === 0 && { 'x-api-key': `${client % 1000}`.padStart(32, 'k') }),
      };
      const body = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
      const { status, text } = await get({ port: ports.http, from: '127.1.0.1', body, headers, agent });
      if (status !== 200) throw new Error(`HTTP ${status}: ${text}`);
      return JSON.parse(text).result.host as string;
    };
    let agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const all = async () => {
      while (sent < 100_000) {
        sent += 1;
        await one(sent);
      }
    };
    await Promise.all(Array.from({ length: 64 }, all));
    const [full, entries] = [memory(gateway), await clientsIn(gateway)];
    // An earlier process keeps nothing of what the next one learns, and HAProxy passes its table on
    // some seconds after its start.
    await sleep(8000);
    const sample = Array.from({ length: 300 }, (_, at) => 1 + at * 333);
    const had = await Promise.all(sample.map(one));
    const load = startLoad({ rate: 100, clients: ['127.0.0.1', '127.0.0.2'], ports: [ports.http] });
    await sleep(2000);
    const started = performance.now();
    await gateway.reload(await contextOf({ ...own, most_behind: 6 }));
    const took = performance.now() - started;
    const during = memory(gateway);
    await sleep(8000);
    await load.end();
    const kept = await clientsIn(gateway);
    // A connection of before the reload is answered by the process of before, which has forgotten them.
    agent.destroy();
    agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const has = await Promise.all(sample.map(one));
    agent.destroy();
    const same = has.filter((host, at) => host === had[at]).length;
    const figures = (await get({ port: ports.metrics, path: '/clients' })).text.length;
    measured(
      task,
      `HAProxy has ${before} MB before and ${full} MB with ${entries} clients; the reload takes ${seconds(took)}, with ${during} MB of both processes; ${said(load)}; ${kept} clients are known afterwards, ${same} of ${sample.length} keep their host; figures by key are ${Math.round(figures / 1000)} kB`,
    );
    expect(load.failed).toEqual([]);
    expect(kept).toBeGreaterThanOrEqual(100_000);
    expect(same).toBe(sample.length);
  });

  test('a client over its limit gets no more than one second of it by a reload', async ({ task }) => {
    const gateway = await start(await contextOf({ clients: { requests: 50 } }));
    const answered: number[] = [];
    let running = true;
    const body = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
    const flood = (async () => {
      while (running) {
        const { status } = await get({ port: ports.http, body });
        if (status === 200) answered.push(performance.now());
        await sleep(4);
      }
    })();
    await sleep(6000);
    await gateway.reload(await contextOf({ clients: { requests: 50 }, most_behind: 6 }));
    await sleep(4000);
    running = false;
    await flood;
    const most = Math.max(
      ...answered.map((from) => answered.filter((at) => at >= from && at < from + 1000).length),
    );
    measured(task, `a limit of 50 in a second; at most ${most} in any second, with a reload`);
    expect(most).toBeLessThanOrEqual(2 * 50 + 10);
  });

  test('keys are added and withdrawn under load, by the files of a deploy and reloads', async ({ task }) => {
    const [stays, ...others] = Array.from({ length: 5 }, (_, at) => `${at}`.repeat(32)) as [
      string,
      ...string[],
    ];
    for (const [at, key] of [stays, ...others].entries()) process.env[`GATEWAY_KEY_${at}`] = key;
    const withKeys = (places: readonly number[]) =>
      contextOf({
        keys: Object.fromEntries(places.map((at) => [`key-${at}`, { key: `env:GATEWAY_KEY_${at}` }])),
      });
    const gateway = await start(await withKeys([0, 1]));
    const statusOf = async (key: string) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
      return (await get({ port: ports.http, body, headers: { 'x-api-key': key } })).status;
    };
    const load = startLoad({
      rate: 200,
      clients: addresses(50),
      ports: [ports.http],
      headers: (client) => (client % 2 === 0 ? { 'x-api-key': stays } : {}),
    });
    const took: number[] = [];
    for (const added of [2, 3, 4]) {
      await sleep(2000);
      const started = performance.now();
      await gateway.reload(await withKeys([0, added]));
      const [known = '', gone = ''] = [others[added - 1], others[added - 2]];
      await until(async () => (await statusOf(known)) === 200, 'a new key is known', 60);
      await until(async () => (await statusOf(gone)) === 401, 'the former key is withdrawn', 60);
      took.push(performance.now() - started);
    }
    await load.end();
    measured(
      task,
      `3 changes, each in use after ${seconds(Math.max(...took))} at most; 200 requests a second: ${said(load)}`,
    );
    expect(load.failed).toEqual([]);
    expect(load.lower).toEqual([]);
  });

  test.for([200, 400])(
    '%i requests a second from 50 clients of one address, while each host has its turn',
    async (rate, context) => {
      // What waits has a connection each: a machine that stands still for seconds is no client with
      // more than 1,000.
      const gateway = await start(await contextOf({ clients: { connections: 10_000 } }));
      const load = startLoad({ rate, clients: Array(50).fill('127.0.0.1'), ports: [ports.http] });
      onTestFinished(() => load.end());
      await carried(load);
      const rest = performance.now();
      await sleep(5000);
      const turns = performance.now();
      for (const host of hosts) {
        await gateway.drain(host.name, 'its turn in a run');
        await until(async () => (await serving(gateway)) === 2, `${host.name} is out`, 30);
        await until(async () => (await sessionsOf(gateway, host)) === 0, `${host.name} has no request`, 30);
        // As a container that starts again.
        await host.kill();
        await sleep(2000);
        await host.start();
        await gateway.undrain(host.name);
        await until(async () => (await serving(gateway)) === 3, `${host.name} is back`, 60);
      }
      await load.end();
      const at = (share: number) =>
        `${quantile(load, share, turns)} (${quantile(load, share, rest, turns)} before)`;
      measured(context.task, `${said(load)}; in the turns p50 ${at(0.5)}, p99 ${at(0.99)}`);
      expect(load.failed).toEqual([]);
      expect(load.lower).toEqual([]);
    },
  );
});

/** Requests that a host has. A run waits for their end, too. */
async function sessionsOf(gateway: Gateway, { name }: RpcHost): Promise<number> {
  return (await gateway.fleet()).hosts.find(({ host }) => host === name)?.sessions ?? Number.NaN;
}

/** Entries in the gateway's table of clients. */
async function clientsIn(gateway: Gateway): Promise<number> {
  const metrics = await gateway.metrics();
  return Number(/haproxy_sticktable_used\{name="clients",type="ipv6"\} (\d+)/.exec(metrics)?.[1]);
}
