import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectByTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { RenderContext } from '../../lib/node/render/render-context.ts';
import type { Changes } from '../../lib/node/testing/lab-deployment.ts';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { openWebSocket, upgrade } from './web-socket.ts';

const names = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4'];

const contextOf = (changes: Changes = []): Promise<RenderContext> =>
  gatewayContext(
    Object.fromEntries(names.map((name, at) => [name, { address: `127.0.7.${at + 1}` }])),
    { most_behind: 5 },
    changes,
  );

let hosts: RpcHost[];
let gateway: Gateway;
const named = (name: string) => hosts.find((host) => host.name === name) as RpcHost;

beforeEach(async () => {
  hosts = names.map((name, at) => rpcHost(name, `127.0.7.${at + 1}`, rpcPorts));
  await Promise.all(hosts.map((host) => host.start()));
});
afterEach(async () => {
  await gateway?.kill();
  await Promise.all(hosts.map((host) => host.kill()));
});

const call = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params: [] });

/** The host that answers a client. */
async function hostOf(from: string): Promise<string> {
  const { text } = await get({ port: ports.http, body: call('who'), from });
  return JSON.parse(text).result.host;
}

/** The reason of each host that does not serve. */
async function out(): Promise<Record<string, string | null>> {
  const fleet = await gateway.fleet();
  return Object.fromEntries(
    fleet.hosts.filter(({ serves }) => !serves).map(({ host, reason }) => [host, reason]),
  );
}

/**
 * Kills a host, and waits until HAProxy has seen the end of its connections: a host that ends has a
 * request that comes before that.
 */
async function kill(host: RpcHost): Promise<void> {
  await host.kill();
  const none = `haproxy_server_idle_connections_current{proxy="rpc_http",server="${host.name}"} 0\n`;
  await until(async () => (await gateway.metrics()).includes(none), `no connection to ${host.name}`);
}

/** What comes back for the first bytes of HTTP/2, up to a space. */
function answerToHttp2(socket: Socket): Promise<string | undefined> {
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (text) => resolve(String(text).split(' ')[0]));
  }).finally(() => socket.destroy()) as Promise<string | undefined>;
}

function grow(): void {
  for (const host of hosts) host.height += 1;
}

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync('/usr/sbin/haproxy'))('gateway', () => {
  describe('who may serve', () => {
    beforeEach(async () => {
      gateway = await startGateway(await contextOf());
    });

    test('clients are spread over all hosts, and each stays on its own', async () => {
      const clients = Array.from({ length: 40 }, (_, at) => `127.0.8.${at + 1}`);
      const first = await Promise.all(clients.map(hostOf));
      expect([...new Set(first)].sort()).toEqual(names);
      for (let round = 0; round < 5; round += 1)
        expect(await Promise.all(clients.map(hostOf))).toEqual(first);
    });

    test('a host that is too far behind is out within 5 s and comes back when it has caught up', async () => {
      named('rpc-2').height -= 5;
      await sleep(2500);
      expect(await out()).toEqual({});
      named('rpc-2').height -= 15;
      const seconds = await until(async () => 'rpc-2' in (await out()), 'rpc-2 is out');
      expect(seconds).toBeLessThan(5);
      expect(await out()).toEqual({ 'rpc-2': '20 blocks behind the best, at 980' });
      expect(await gateway.metrics()).toMatch(
        /haproxy_server_status\{proxy="rpc_http",server="rpc-2",state="MAINT"\} 1/,
      );
      named('rpc-2').height += 20;
      await until(async () => Object.keys(await out()).length === 0, 'rpc-2 is back');
    });

    test('a host with another hash at a common height is out within 5 s, also where it is ahead', async () => {
      named('rpc-3').forkedAt = 990;
      named('rpc-3').height += 500;
      const seconds = await until(async () => 'rpc-3' in (await out()), 'rpc-3 is out');
      expect(seconds).toBeLessThan(5);
      expect(await out()).toEqual({
        'rpc-3': expect.stringMatching(/^another hash at block 1000: 0x[0-9a-f]{16}, most have 0x/),
      });
      grow();
      await sleep(1500);
      expect(Object.keys(await out())).toEqual(['rpc-3']);
    });

    test('a fork above a host that is far behind is found, too', async () => {
      named('rpc-1').height = 900;
      named('rpc-4').forkedAt = 950;
      await until(async () => Object.keys(await out()).length === 2, 'both are out');
      expect(await out()).toEqual({
        'rpc-1': '100 blocks behind the best, at 900',
        'rpc-4': expect.stringContaining('another hash at block 1000'),
      });
    });

    test('a stalled chain takes no host out', async () => {
      // HAProxy waits 5 s after its start for the table of an earlier process, and passes its own
      // on only after that.
      await sleep(6000);
      expect(await out()).toEqual({});
    });

    test('a killed host is out within 5 s, and its clients get answers from others without an error', async () => {
      const clients = Array.from({ length: 12 }, (_, at) => `127.0.8.${at + 1}`);
      const first = await Promise.all(clients.map(hostOf));
      await kill(named('rpc-1'));
      const answers = await Promise.all(clients.map(hostOf));
      expect(answers).not.toContain('rpc-1');
      for (const [at, host] of first.entries()) if (host !== 'rpc-1') expect(answers[at]).toBe(host);
      const seconds = await until(async () => 'rpc-1' in (await out()), 'rpc-1 is out');
      expect(seconds).toBeLessThan(5);
      expect(await out()).toEqual({ 'rpc-1': 'does not accept connections' });
    });

    test('a killed host fails the requests that it has, at once and counted, and no other one', async () => {
      const clients = Array.from({ length: 16 }, (_, at) => `127.0.8.${at + 1}`);
      const first = await Promise.all(clients.map(hostOf));
      const own = clients.filter((_, at) => first[at] === 'rpc-1');
      const kept = new Agent({ keepAlive: true });
      const [one = '', ...others] = own;
      await get({ port: ports.http, body: call('who'), from: one, agent: kept });
      named('rpc-1').delay = 20_000;
      const slow = (from: string, agent: Agent) => get({ port: ports.http, body: call('slow'), from, agent });
      const fresh = others.map((from) => slow(from, new Agent()));
      const again = slow(one, kept).catch((error) => error.code);
      await until(async () => named('rpc-1').answered === own.length * 2 + 1, 'it has them');
      const started = performance.now();
      await named('rpc-1').kill();
      for (const { status, text } of await Promise.all(fresh)) {
        expect([status, JSON.parse(text).error.message]).toEqual([502, 'the RPC host ended the connection']);
      }
      // HAProxy ends a connection that has had answers, as a server does that ends between two.
      expect(await again).toBe('ECONNRESET');
      expect(performance.now() - started).toBeLessThan(2000);
      expect(await Promise.all(own.map(hostOf))).not.toContain('rpc-1');
      const text = await gateway.metrics();
      const sum = (name: string, labels: string) =>
        [...text.matchAll(new RegExp(`^haproxy_${name}\\{proxy="rpc${labels}\\} (\\d+)$`, 'gm'))]
          .map(([, value]) => Number(value))
          .reduce((all, value) => all + value, 0);
      expect(sum('server_response_errors_total', '_http",server="rpc-1"')).toBe(others.length);
      const answered = sum('frontend_http_responses_total', '",code="[^"]*"');
      expect(sum('frontend_http_requests_total', '"') - answered).toBe(1);
      kept.destroy();
    });

    test('a client of a killed host does not see a lower height on another one', async () => {
      const from = '127.0.8.1';
      const height = async () => {
        const { text } = await get({ port: ports.http, body: call('eth_blockNumber', 'x-1'), from });
        expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 'x-1' });
        return Number(JSON.parse(text).result);
      };
      const host = named(await hostOf(from));
      host.height += 2;
      expect(await height()).toBe(1002);
      await kill(host);
      setTimeout(() => grow(), 700);
      setTimeout(() => grow(), 1400);
      expect(await height()).toBe(1002);
      expect(await hostOf(from)).not.toBe(host.name);
    });

    test('a host that does not answer is out within 5 s, but not where half of them are slow', async () => {
      named('rpc-1').silent = true;
      expect(await until(async () => 'rpc-1' in (await out()), 'rpc-1 is out')).toBeLessThan(5);
      expect(await out()).toEqual({ 'rpc-1': 'does not answer' });
      for (const host of hosts) host.silent = true;
      await sleep(6000);
      expect(Object.keys(await out()).length).toBeLessThan(2);
    });

    test('a drained host gets no new request, ends what it has, and serves again afterwards', async () => {
      const client = '127.0.8.1';
      const host = await hostOf(client);
      named(host).delay = 3000;
      const slow = get({ port: ports.http, body: call('slow'), from: client });
      await sleep(200);
      await gateway.drain(host, 'restart of json-rpc');
      await until(async () => host in (await out()), 'it is out');
      expect(await out()).toEqual({ [host]: 'drained: restart of json-rpc' });
      const { hosts: seen } = await gateway.fleet();
      expect(seen.find((one) => one.host === host)).toMatchObject({ fit: true, serves: false, sessions: 1 });
      expect(await hostOf(client)).not.toBe(host);
      expect(JSON.parse((await slow).text).result.host).toBe(host);
      await gateway.undrain(host);
      await until(async () => Object.keys(await out()).length === 0, 'it is back');
    });

    test('a drained host that is ahead makes no other host late', async () => {
      await gateway.drain('rpc-1', 'test');
      await until(async () => 'rpc-1' in (await out()), 'it is out');
      named('rpc-1').height += 100;
      await sleep(2500);
      expect(Object.keys(await out())).toEqual(['rpc-1']);
    });

    test('where no host may serve, clients get a JSON-RPC error with their id', async () => {
      for (const name of names) await gateway.drain(name, 'test');
      await until(async () => Object.keys(await out()).length === 4, 'all are out');
      const { status, text, headers } = await get({ port: ports.http, body: call('who', 77) });
      expect(status).toBe(503);
      expect(headers['content-type']).toBe('application/json');
      expect(JSON.parse(text)).toEqual({
        jsonrpc: '2.0',
        id: 77,
        error: { code: -32002, message: 'no RPC host may serve now' },
      });
      expect((await get({ port: ports.websocket, headers: upgrade })).status).toBe(503);
    });

    test('a WebSocket goes to the host that the client has by HTTP, and is cut when that host falls behind', async () => {
      const from = '127.0.8.9';
      const host = await hostOf(from);
      const { status, headers } = await get({ port: ports.websocket, from, headers: upgrade });
      expect([status, headers['x-host']]).toEqual([101, host]);
      const socket = connect({ host: '127.0.0.1', port: ports.websocket, localAddress: from });
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => {}).resume();
      const lines = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`GET / HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      named(host).height -= 20;
      await closed;
    });
  });

  describe('calls that an RPC host executes', () => {
    beforeEach(async () => {
      gateway = await startGateway(await contextOf(), (text) =>
        text
          .replace('call_pause, most_failures = 5, 3', 'call_pause, most_failures = 1, 3')
          .replace('call_patience = 10', 'call_patience = 2'),
      );
    });

    test('a host that fails them is out while another one executes them', async () => {
      named('rpc-2').executes = 'no prover';
      await until(async () => 'rpc-2' in (await out()), 'rpc-2 is out', 15);
      expect(await out()).toEqual({
        'rpc-2':
          'does not execute calls: failed to execute the unsigned transaction: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 172.18.0.2:50071: connect: connection refused"',
      });
      // What all have is no reason, and neither is a node without the method.
      for (const host of hosts) host.executes = host.name === 'rpc-4' ? 'no method' : 'no prover';
      await until(async () => Object.keys(await out()).length === 0, 'all serve', 20);
      await sleep(4000);
      expect(await out()).toEqual({});
    });

    test('a host that hangs in them is out, and serves again when it executes', async () => {
      named('rpc-3').executes = 'hangs';
      await until(async () => 'rpc-3' in (await out()), 'rpc-3 is out');
      expect(await out()).toEqual({ 'rpc-3': 'has not executed a call for 2 s' });
      named('rpc-3').executes = 'well';
      await until(async () => Object.keys(await out()).length === 0, 'rpc-3 is back');
    });

    test('they are no reason where half of the hosts hang: it is the load', async () => {
      for (const name of ['rpc-1', 'rpc-2']) named(name).executes = 'hangs';
      await sleep(5000);
      expect(await out()).toEqual({});
    });
  });

  describe('WebSockets while a run changes hosts', () => {
    const turn = 'its turn in a run';
    const open = async (from: string) => {
      const { status, headers } = await get({ port: ports.websocket, from, headers: upgrade });
      return [status, headers['x-host']];
    };
    const isIn = async (name: string) =>
      (await gateway.fleet()).hosts.some(({ host, serves }) => host === name && serves);

    beforeEach(async () => {
      gateway = await startGateway(await contextOf());
    });

    test('those of the first turn wait for its end, and later ones go to the host that had it', async () => {
      await gateway.drain('rpc-2', turn);
      await until(async () => !(await isIn('rpc-2')), 'rpc-2 is out');
      const clients = Array.from({ length: 8 }, (_, at) => `127.0.8.${at + 1}`);
      let answered = 0;
      const count = () => {
        answered += 1;
      };
      const waiting = clients.map((from) => open(from).finally(count));
      // By HTTP they are served all the time.
      expect(await hostOf('127.0.8.1')).not.toBe('rpc-2');
      await sleep(2000);
      expect(answered).toBe(0);
      await gateway.undrain('rpc-2');
      expect(await Promise.all(waiting)).toEqual(clients.map(() => [101, 'rpc-2']));
      await gateway.drain('rpc-3', turn);
      await until(async () => !(await isIn('rpc-3')), 'rpc-3 is out');
      expect(await Promise.all(clients.map(open))).toEqual(clients.map(() => [101, 'rpc-2']));
      await gateway.undrain('rpc-3');
      await until(() => isIn('rpc-3'), 'rpc-3 is back');
      // The turns of the next run begin: rpc-3 has its own again, too.
      await gateway.drain('rpc-2', turn);
      const isLeft = async () =>
        (await gateway.fleet()).hosts.some(
          ({ host, serves, sessions }) => host === 'rpc-2' && !serves && sessions === 0,
        );
      await until(isLeft, 'rpc-2 is out again, without clients', 40);
      const again = clients.map(open);
      await sleep(1000);
      await gateway.undrain('rpc-2');
      expect(await Promise.all(again)).toEqual(clients.map(() => [101, 'rpc-2']));
    });

    test('they wait until the host serves again, where it was faulty during its turn', async () => {
      const stateOf = async () => (await gateway.fleet()).hosts.find(({ host }) => host === 'rpc-2');
      await gateway.drain('rpc-2', turn);
      await until(async () => !(await isIn('rpc-2')), 'rpc-2 is out');
      named('rpc-2').height -= 20;
      await until(async () => !(await stateOf())?.fit, 'rpc-2 is behind');
      const clients = Array.from({ length: 8 }, (_, at) => `127.0.8.${at + 1}`);
      const waiting = clients.map(open);
      named('rpc-2').height += 20;
      // Its first good round: it serves after two more.
      await until(
        async () => (await stateOf())?.height === named('rpc-2').height,
        'rpc-2 is back at the head',
      );
      await gateway.undrain('rpc-2');
      expect(await Promise.all(waiting)).toEqual(clients.map(() => [101, 'rpc-2']));
    });

    test('those of a host that the operator has drained go to another one at once', async () => {
      await gateway.drain('rpc-2', 'new disk');
      await until(async () => !(await isIn('rpc-2')), 'rpc-2 is out');
      expect(await open('127.0.8.1')).toEqual([101, expect.stringMatching(/^rpc-[134]$/)]);
      expect(await isIn('rpc-2')).toBe(false);
    });
  });

  test('no client ever sees a lower height, while hosts differ, fall behind, are drained and come back', async () => {
    gateway = await startGateway(await contextOf());
    const clients = Array.from({ length: 100 }, (_, at) => `127.0.9.${at + 1}`);
    const seen = new Map<string, number>();
    const lower: string[] = [];
    let asked = 0;
    let failed = 0;
    let running = true;
    const load = clients.map(async (from) => {
      while (running) {
        const { status, text } = await get({ port: ports.http, body: call('eth_blockNumber'), from });
        asked += 1;
        if (status !== 200) failed += 1;
        else {
          const height = Number(JSON.parse(text).result);
          if (height < (seen.get(from) ?? 0)) lower.push(`${from}: ${seen.get(from)} then ${height}`);
          seen.set(from, height);
        }
        await sleep(50);
      }
    });
    // Each host gets a block at another time; one of them is up to 4 behind.
    let top = 1000;
    const growth = setInterval(() => {
      top += 1;
      for (const [at, host] of hosts.entries())
        setTimeout(() => {
          host.height = Math.max(host.height, top - (at === 3 ? 4 : 0));
        }, at * 150);
    }, 700);
    for (const name of ['rpc-1', 'rpc-2']) {
      await gateway.drain(name, 'test');
      await sleep(2500);
      await gateway.undrain(name);
      await sleep(4500);
    }
    // A busy machine is slow.
    await until(async () => asked > 2000, 'clients have asked 2000 times', 120);
    clearInterval(growth);
    running = false;
    await Promise.all(load);
    expect(lower).toEqual([]);
    expect(failed).toBe(0);
  });

  test('a reload fails no request, and keeps the host of each client', async () => {
    gateway = await startGateway(await contextOf());
    const clients = Array.from({ length: 20 }, (_, at) => `127.0.8.${at + 1}`);
    const before = await Promise.all(clients.map(hostOf));
    let running = true;
    const statuses: number[] = [];
    const load = (async () => {
      while (running) {
        statuses.push((await get({ port: ports.http, body: call('who') })).status);
        // A client that asks without a pause reaches the limit of requests on a fast machine.
        await sleep(20);
      }
    })();
    // HAProxy waits 5 s after its start for the table of an earlier process, and passes its own on
    // only after that.
    await sleep(9000);
    await gateway.reload(await contextOf([[['vars', 'gateway', 'most_behind'], 7]]));
    await sleep(3000);
    running = false;
    await load;
    expect(await Promise.all(clients.map(hostOf))).toEqual(before);
    expect([...new Set(statuses)]).toEqual([200]);
  });

  test('gateways with IPv6 addresses know each other, and give the monitor their metrics', async () => {
    const own = { http: 28210, websocket: 28211, metrics: 28212, peers: 28213 };
    const context = await contextOf([
      [
        ['groups', 'gateway'],
        { 'gw-1': { address: '::1' }, 'gw-2': { address: '::1', port: 2222, vars: { gateway: own } } },
      ],
    ]);
    gateway = await startGateway(context);
    const host = context.hosts.find(({ name }) => name === 'gw-2');
    if (!host) throw new Error('no gw-2');
    const other = await startGateway({ ...context, host, vars: host.vars });
    onTestFinished(() => other.kill());
    for (const port of [ports.metrics, own.metrics])
      expect((await get({ port, path: '/metrics', address: '::1', from: '::1' })).status).toBe(200);
    let round = 0;
    const knowEachOther = async () => {
      round += 1;
      const clients = Array.from({ length: 12 }, (_, at) => `127.0.${10 + round}.${at + 1}`);
      const first = await Promise.all(clients.map(hostOf));
      await sleep(500);
      const hostsOf = clients.map(async (from) => {
        const { text } = await get({ port: own.http, body: call('who'), from });
        return JSON.parse(text).result.host;
      });
      return JSON.stringify(await Promise.all(hostsOf)) === JSON.stringify(first);
    };
    await until(knowEachOther, 'a client has its host by both', 30);
  });

  describe('requests', () => {
    test('the address of the client is what the gateway saw, whatever the client says', async () => {
      gateway = await startGateway(await contextOf());
      const headers = { 'x-forwarded-for': '1.2.3.4' };
      const { text } = await get({ port: ports.http, body: call('who'), from: '127.0.8.5', headers });
      expect(JSON.parse(text).result.from).toBe('127.0.8.5');
    });

    test('a batch may have a number of requests, and no more', async () => {
      gateway = await startGateway(await contextOf([[['vars', 'gateway', 'clients'], { batch: 3 }]]));
      const batch = (length: number) =>
        Array.from({ length }, (_, id) => ({ ...call('who', id), params: [[{ a: '}]"[' }]] }));
      const good = await get({ port: ports.http, body: batch(3) });
      expect([good.status, good.text]).toEqual([200, expect.stringMatching(/^\[/)]);
      expect(JSON.parse(good.text).length).toBe(3);
      const bad = await get({ port: ports.http, body: ` ${JSON.stringify(batch(4))}` });
      expect([bad.status, JSON.parse(bad.text).error]).toEqual([
        413,
        { code: -32005, message: 'a batch of more than 3 requests' },
      ]);
      const long = await get({ port: ports.http, body: [{ ...call('who'), params: ['x'.repeat(300_000)] }] });
      expect([long.status, JSON.parse(long.text).error.message]).toEqual([
        413,
        'a body of more than 220000 bytes',
      ]);
      const single = await get({
        port: ports.http,
        body: { ...call('who'), params: [`0x${'0'.repeat(200_264)}`] },
      });
      expect(single.status).toBe(200);
    });

    test('a batch that cannot be judged does not pass', async () => {
      gateway = await startGateway(await contextOf([[['vars', 'gateway', 'clients'], { batch: 3 }]]));
      const batch = JSON.stringify(Array.from({ length: 2000 }, (_, id) => call('who', id)));
      const seen = hosts.reduce((sum, { answered }) => sum + answered, 0);
      for (const body of [
        ' '.repeat(262_144) + batch,
        '\n\t\r '.repeat(70_000) + batch,
        `${' '.repeat(200_001 - batch.length)}${batch}`,
        `\u000b${batch}`,
        `\ufeff${batch}`,
      ]) {
        const { status, text } = await get({ port: ports.http, body });
        expect([400, 413], body.trim().slice(0, 20)).toContain(status);
        expect(JSON.parse(text).error.message).toMatch(
          /^(this is not a JSON-RPC request|a batch of more than 3 requests|a body of more than 220000 bytes)$/,
        );
      }
      // Headers take room of the body.
      const headers = { 'x-a': 'a'.repeat(60_000) };
      const cut = await get({ port: ports.http, body: batch + ' '.repeat(199_000 - batch.length), headers });
      expect([cut.status, JSON.parse(cut.text).error.message]).toEqual([
        431,
        'headers of more than 32768 bytes',
      ]);
      expect(hosts.reduce((sum, { answered }) => sum + answered, 0)).toBe(seen);
    });

    test('a body that is sent in chunks is judged whole, whatever is in front of it', async () => {
      gateway = await startGateway(await contextOf());
      const fullHeaders = Object.fromEntries(
        Array.from({ length: 80 }, (_, at) => [`x-${at}`, 'a'.repeat(395)]),
      );
      const longLine = { path: `/${'a'.repeat(2047)}`, method: 'M'.repeat(2048) };
      const ask = async (way: object, length: number, text = JSON.stringify(call('who'))) => {
        const body = text.padEnd(length);
        const { status, text: said } = await get({ port: ports.http, body, chunk: 1000, ...way });
        return [status, JSON.parse(said).error?.message];
      };
      const line = 'a method of HTTP or a web address of more than 2048 bytes';
      for (const way of [{ path: `/${'a'.repeat(60_000)}` }, { method: 'M'.repeat(60_000) }])
        expect(await ask(way, 400_000)).toEqual([414, line]);
      expect(await ask({ ...longLine, headers: fullHeaders }, 400_000)).toEqual([
        413,
        'a body of more than 220000 bytes',
      ]);
      expect(hosts.flatMap(({ seen }) => seen).filter((head) => !head.startsWith('POST / '))).toEqual([]);
      // The longest one is read to its end.
      expect(await ask({ ...longLine, headers: fullHeaders }, 220_000, '{')).toEqual([
        400,
        'this is not a JSON-RPC request',
      ]);
      expect(await ask({ path: longLine.path }, 220_000)).toEqual([200, undefined]);
    });

    test('each call counts, in batches and in chunks', async () => {
      gateway = await startGateway(await contextOf([[['vars', 'gateway', 'clients'], { requests: 10 }]]));
      const body = JSON.stringify(Array.from({ length: 11 }, (_, id) => call('who', id)));
      const refused = { code: -32005, message: 'more than 10 requests in a second' };
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
        const { status, text } = await get({ port: ports.http, body, headers });
        expect([status, JSON.parse(text)]).toEqual([429, { jsonrpc: '2.0', id: null, error: refused }]);
      }
      expect(await gateway.metrics()).toMatch(
        /haproxy_backend_http_responses_total\{proxy="refused_requests",code="4xx"\} 2\n/,
      );
    });

    test.each<[string, object]>([
      ['no JSON', { body: 'x' }],
      ['too large a batch', { body: [call('who'), call('who'), call('who')] }],
      ['too long a body', { body: 'x'.repeat(230_000) }],
      [
        'too long a body in chunks',
        { body: 'x'.repeat(230_000), headers: { 'transfer-encoding': 'chunked' } },
      ],
      ['too many headers', { body: call('who'), headers: { 'x-a': 'a'.repeat(33_000) } }],
      ['too long a line', { body: call('who'), path: `/${'a'.repeat(3000)}` }],
    ])('what is refused counts as a request: %s', async (_, way) => {
      gateway = await startGateway(
        await contextOf([[['vars', 'gateway', 'clients'], { requests: 5, batch: 2 }]]),
      );
      const ask = async (how: object) => (await get({ port: ports.http, ...how })).status;
      const refused = await Promise.all(Array.from({ length: 20 }, () => ask(way)));
      expect(refused.every((status) => status >= 400 && status < 500)).toBe(true);
      expect(await ask({ body: call('who') })).toBe(429);
      expect(await ask({ body: call('who'), from: '127.0.8.2' })).toBe(200);
    });

    test('without limits of the operator those of the node hold', async () => {
      gateway = await startGateway(await contextOf());
      const batch = Array.from({ length: 2500 }, (_, id) => ({ id, method: 'who' }));
      const { status, text } = await get({ port: ports.http, body: batch });
      expect([status, JSON.parse(text).length]).toEqual([200, 2500]);
    });

    const behind = (text: string) => [
      `{"id":1,"method":"who"}${text}`,
      `[{"id":1,"method":"who"},{"id":2,"method":"who"}]${text}`,
    ];
    test.each(['not json', '<html></html>', '"text"', '1', ...behind('\0'), ...behind('\0[')])(
      '%j is refused as JSON-RPC, and not by a page',
      async (body) => {
        gateway = await startGateway(await contextOf());
        const { status, text } = await get({ port: ports.http, body });
        expect([status, JSON.parse(text).error]).toEqual([
          400,
          { code: -32700, message: 'this is not a JSON-RPC request' },
        ]);
      },
    );

    // HAProxy itself counts a call whose id is a number, and Lua any other.
    test.each(['a-1', 17, undefined])(
      'a client that asks too often with id %j gets an error, and others do not',
      async (id) => {
        gateway = await startGateway(await contextOf([[['vars', 'gateway', 'clients'], { requests: 10 }]]));
        const many = await Promise.all(
          Array.from({ length: 30 }, () =>
            get({ port: ports.http, body: { method: 'who', id }, from: '127.0.8.1' }),
          ),
        );
        const refused = many.filter(({ status }) => status === 429);
        expect(refused.length).toBeGreaterThan(10);
        expect(JSON.parse(refused[0]?.text ?? '')).toEqual({
          jsonrpc: '2.0',
          id: id ?? null,
          error: { code: -32005, message: 'more than 10 requests in a second' },
        });
        expect(many.length - refused.length).toBeLessThanOrEqual(20);
        expect((await get({ port: ports.http, body: call('who'), from: '127.0.8.2' })).status).toBe(200);
      },
    );

    test('a page of another site may read what went wrong', async () => {
      const quick = (text: string) => text.replace(/timeout (server|http-request) .*/g, 'timeout $1 300ms');
      gateway = await startGateway(await contextOf(), quick);
      const seen = async (way: object) => {
        const { status, headers } = await get({ port: ports.http, body: call('slow'), ...way });
        return [status, headers['access-control-allow-origin']];
      };
      expect(await seen({ headers: { 'content-length': '9999' } })).toEqual([408, '*']);
      for (const host of hosts) host.delay = 1000;
      expect(await seen({})).toEqual([504, '*']);
      const ended = seen({ from: '127.0.8.1' });
      await sleep(150);
      await Promise.all(hosts.map((host) => host.kill()));
      expect(await ended).toEqual([502, '*']);
    });

    describe('who the client is', () => {
      const trusting = (client_in: string, addresses = ['127.0.6.1', '10.9.0.0/16']) =>
        contextOf([
          [['vars', 'gateway', 'trusted'], { addresses, client_in }],
          [['vars', 'gateway', 'clients'], { requests: 10 }],
        ]);
      const seen = async (from: string, headers: Readonly<Record<string, string>>) => {
        const { status, text } = await get({ port: ports.http, body: call('who'), from, headers });
        return status === 200 ? JSON.parse(text).result.from : status;
      };

      test.each<[string, Readonly<Record<string, string>>, string]>([
        ['X-Forwarded-For', { 'x-forwarded-for': '192.0.2.1' }, '192.0.2.1'],
        ['X-Forwarded-For', { 'x-forwarded-for': '198.51.100.9, 192.0.2.1' }, '192.0.2.1'],
        ['X-Forwarded-For', { 'x-forwarded-for': '198.51.100.9, 192.0.2.1, 10.9.1.2' }, '192.0.2.1'],
        ['X-Forwarded-For', { 'x-forwarded-for': '192.0.2.1, x' }, '127.0.6.1'],
        ['X-Forwarded-For', { 'x-forwarded-for': '198.51.100.9, x, 10.9.1.2' }, '10.9.1.2'],
        ['X-Forwarded-For', { 'x-forwarded-for': '2001:db8::1' }, '2001:db8::1'],
        ['X-Forwarded-For', {}, '127.0.6.1'],
        ['CF-Connecting-IP', { 'cf-connecting-ip': '192.0.2.1', 'x-forwarded-for': '1.2.3.4' }, '192.0.2.1'],
      ])('%s %o of a trusted address names it, and of nobody else', async (header, headers, client) => {
        gateway = await startGateway(await trusting(header));
        expect(await seen('127.0.6.1', headers)).toBe(client);
        expect(await seen('127.0.6.2', headers)).toBe('127.0.6.2');
      });

      test('limits and the host follow the client: by IPv6 /64, by HTTP and WebSocket', async () => {
        gateway = await startGateway(await trusting('X-Forwarded-For'));
        const from = (address: string) => ({ 'x-forwarded-for': address });
        const hostsOf = async (address: string) => {
          const sent = { port: ports.http, body: call('who'), from: '127.0.6.1', headers: from(address) };
          return JSON.parse((await get(sent)).text).result?.host;
        };
        const first = await hostsOf('2001:db8::1');
        expect(await hostsOf('2001:db8::2')).toBe(first);
        const clients = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '2001:db8:0:1::1'];
        const others = await Promise.all(clients.map(hostsOf));
        expect(new Set([first, ...others]).size).toBeGreaterThan(1);
        const open = (address: string) =>
          openWebSocket(ports.websocket, { from: '127.0.6.1', headers: from(address) });
        const batch = JSON.stringify(Array.from({ length: 11 }, () => call('who')));
        for (const address of ['192.0.2.9', '2001:db8:0:9::1']) {
          await until(async () => {
            const client = await open(address);
            onTestFinished(() => void client.socket.destroy());
            client.say(batch);
            const frame = await client.next();
            expect(String(frame?.content)).toContain('more than 10 requests in a second');
            return (await seen('127.0.6.1', from(address.replace('::1', '::2')))) === 429;
          }, 'the limit is that of the client');
        }
        expect(await seen('127.0.6.1', from('192.0.2.8'))).toBe('192.0.2.8');
      });

      test('the PROXY protocol is taken from a trusted address, and is no request of others', async () => {
        gateway = await startGateway(await trusting('PROXY'));
        const ask = (from: string, line: string) =>
          new Promise<string>((resolve) => {
            const socket = connect({ host: '127.0.0.1', port: ports.http, localAddress: from });
            let text = '';
            socket.on('error', () => {}).on('close', () => resolve(text));
            socket.on('data', (part) => {
              text += part;
            });
            const body = JSON.stringify(call('who'));
            socket.write(
              `${line}POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
            );
          });
        const line = 'PROXY TCP4 192.0.2.1 192.0.2.99 1234 443\r\n';
        expect(await ask('127.0.6.1', line)).toContain('"from":"192.0.2.1"');
        expect(await ask('127.0.6.2', line)).toContain('HTTP/1.1 400');
        expect(await ask('127.0.6.2', '')).toContain('"from":"127.0.6.2"');
        expect(await ask('127.0.6.1', '')).toBe('');
      });

      test('connections of a trusted address do not count, and those of its clients do', async () => {
        const context = await contextOf([
          [['vars', 'gateway', 'trusted'], { addresses: ['127.0.6.1'], client_in: 'X-Forwarded-For' }],
          [['vars', 'gateway', 'clients'], { connections: 2 }],
        ]);
        gateway = await startGateway(context);
        const open = async (address: string) => {
          const headers = { 'x-forwarded-for': address };
          const client = await openWebSocket(ports.websocket, { from: '127.0.6.1', headers });
          onTestFinished(() => void client.socket.destroy());
          return client.status;
        };
        const clients = ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2', '192.0.2.1'];
        const statuses = [];
        for (const address of clients) statuses.push(await open(address));
        expect(statuses).toEqual([101, 101, 101, 101, 429]);
      });

      test('a client has as many connections as it may have, and one that has ended counts no more', async () => {
        gateway = await startGateway(await contextOf([[['vars', 'gateway', 'clients'], { connections: 2 }]]));
        const ask = async (agent = new Agent(), from = '127.0.8.1') => {
          onTestFinished(() => agent.destroy());
          return (await get({ port: ports.http, body: call('who'), from, agent })).status;
        };
        const [one, two, three] = [1, 2, 3].map(() => new Agent({ keepAlive: true }));
        expect([await ask(one), await ask(two), await ask(one)]).toEqual([200, 200, 200]);
        await expect(ask(three)).rejects.toThrow('ECONNRESET');
        expect(await ask(three, '127.0.8.2')).toBe(200);
        one?.destroy();
        await until(async () => (await ask(three)) === 200, 'it may connect again');
      });

      test('a connection has one request at a time: nobody gets HTTP/2', async () => {
        gateway = await startGateway(await contextOf());
        for (const port of [ports.http, ports.websocket])
          expect(await answerToHttp2(connect(port, '127.0.0.1'))).toBe('HTTP/1.1');
      });
    });

    test('TLS with the given certificate', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const [key, pem] = [join(folder, 'key'), join(folder, 'pem')];
      const subject = ['-subj', '/CN=rpc.example', '-addext', 'subjectAltName=DNS:rpc.example'];
      const made = [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        ...subject,
        '-keyout',
        key,
        '-out',
        pem,
      ];
      execFileSync('openssl', made, { stdio: 'pipe' });
      await chmod(key, 0o600);
      const tls = { certificate: pem, key: `file:${key}`, names: ['rpc.example'] };
      gateway = await startGateway(await contextOf([[['vars', 'gateway', 'tls'], tls]]));
      const trusts = await readFile(pem, 'utf8');
      const { status, text, headers } = await get({ port: ports.http, body: call('who'), trusts });
      expect([status, JSON.parse(text).result.from]).toEqual([200, '127.0.0.1']);
      expect(headers['strict-transport-security']).toBe('max-age=63072000');
      // Also in an answer of HAProxy's own.
      const refused = await get({ port: ports.http, body: 'no JSON', trusts });
      expect([refused.status, refused.headers['strict-transport-security']]).toEqual([
        400,
        'max-age=63072000',
      ]);
      await expect(get({ port: ports.http, body: call('who') })).rejects.toThrow();
      const secured = { host: '127.0.0.1', servername: 'rpc.example', ca: trusts };
      for (const port of [ports.http, ports.websocket])
        expect(await answerToHttp2(connectByTls({ ...secured, port }))).toBe('HTTP/1.1');
      const offer = connectByTls({ ...secured, port: ports.http, ALPNProtocols: ['h2', 'http/1.1'] });
      await once(offer, 'secureConnect');
      expect(offer.alpnProtocol).toBe('http/1.1');
      offer.destroy();
      const offered = (...options: string[]) =>
        spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${ports.http}`, ...options], { input: '' })
          .status;
      expect(offered('-tls1_2', '-cipher', 'ECDHE-RSA-AES128-GCM-SHA256')).toBe(0);
      expect(offered('-tls1_3', '-ciphersuites', 'TLS_CHACHA20_POLY1305_SHA256')).toBe(0);
      for (const curve of ['X25519', 'P-256', 'P-384']) expect(offered('-groups', curve), curve).toBe(0);
      expect(offered('-groups', 'P-521')).toBe(1);
      // RSA for the exchange of keys, CBC, and old versions.
      for (const cipher of ['AES128-SHA', 'AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA'])
        expect(offered('-tls1_2', '-cipher', cipher), cipher).toBe(1);
      expect(offered('-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0')).toBe(1);
    });

    test('only the given clients are let in', async () => {
      gateway = await startGateway(await contextOf([[['vars', 'firewall'], { json_rpc: ['127.0.8.0/24'] }]]));
      expect((await get({ port: ports.http, body: call('who'), from: '127.0.8.2' })).status).toBe(200);
      await expect(get({ port: ports.http, body: call('who'), from: '127.0.6.1' })).rejects.toThrow(
        /ECONNRESET|hang up/,
      );
      await expect(get({ port: ports.metrics, path: '/metrics', from: '127.0.0.1' })).resolves.toMatchObject({
        status: 200,
      });
    });
  });
});
