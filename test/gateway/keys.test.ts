import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { openWebSocket } from './web-socket.ts';

const [alice, bob, nobody] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
const call = (method = 'who', id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params: [] });
const batch = (length: number) => Array.from({ length }, (_, id) => call('who', id));

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('API keys', () => {
  let host: RpcHost;
  let gateway: Gateway;
  const contextOf = (own: object) => {
    process.env.GATEWAY_ALICE = alice;
    process.env.GATEWAY_BOB = bob;
    return gatewayContext({ 'rpc-1': { address: '127.0.7.1' } }, own);
  };
  const start = async (own: object) => {
    gateway = await startGateway(await contextOf(own));
  };
  const both = {
    alice: { key: 'env:GATEWAY_ALICE', requests: 20, methods: { allow: ['who', 'debug_*'], deny: [] } },
    bob: { key: 'env:GATEWAY_BOB', batch: 2 },
  };
  const ways = (key: string) => [
    { headers: { 'x-api-key': key } },
    { path: `/${key}` },
    { path: `/?key=${key}` },
    { path: `/?a=b&key=${key}` },
  ];
  const ask = async (way: object, body: unknown = call()) => {
    const { status, text } = await get({ port: ports.http, body, ...way });
    return { status, text };
  };

  beforeEach(async () => {
    host = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await host.start();
  });
  afterEach(async () => {
    await gateway?.kill();
    await host.kill();
  });

  test('a key in the header, the path or the query is known, and no other', async () => {
    await start({ keys: both });
    for (const way of ways(alice)) expect((await ask(way)).status, JSON.stringify(way)).toBe(200);
    for (const way of ways(nobody)) {
      const { status, text } = await ask(way);
      expect([status, JSON.parse(text).error]).toEqual([401, { code: -32001, message: 'no known API key' }]);
    }
    expect((await ask({})).status).toBe(200);
    expect((await ask({ path: '/', headers: { 'x-api-key': '' } })).status).toBe(401);
  });

  test('a request with an unknown key counts for its address', async () => {
    await start({ keys: both, clients: { requests: 5 } });
    const unknown = () => ask({ path: `/${nobody}` });
    await Promise.all(Array.from({ length: 20 }, unknown));
    expect((await ask({})).status).toBe(429);
    expect((await ask({ path: `/${alice}` })).status).toBe(200);
    expect((await ask({ from: '127.0.8.2' })).status).toBe(200);
  });

  test('without a key nobody is let in where one is required', async () => {
    await start({ keys: both, key_required: true });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ path: `/${bob}` })).status).toBe(200);
    expect((await openWebSocket(ports.websocket)).status).toBe(401);
    // What a browser asks before its first call has no key, and no call.
    const asked = (body?: string) =>
      fetch(`http://127.0.0.1:${ports.http}/`, { method: 'OPTIONS', ...(body && { body }) });
    expect((await asked()).status).toBe(204);
    expect((await asked(JSON.stringify(call()))).status).toBe(401);
  });

  test('a browser may send its key in the header, and what it asks before counts as a request', async () => {
    await start({ keys: both, key_required: true, clients: { requests: 20 } });
    const asked = (from: string) =>
      get({
        port: ports.http,
        method: 'OPTIONS',
        from,
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,x-api-key',
        },
      });
    const { status, text, headers } = await asked('127.0.8.1');
    expect([status, text]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers':
        'Accept, Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-API-Key',
      'access-control-max-age': '86400',
    });
    const many = await Promise.all(Array.from({ length: 60 }, () => asked('127.0.8.2')));
    expect(new Set(many.map((answer) => answer.status))).toEqual(new Set([204, 429]));
    expect(host.seen.filter((head) => !head.startsWith('POST'))).toEqual([]);
  });

  test('the question of a monitor needs no key and no offered method, and nothing else of it passes', async () => {
    const monitor = '127.0.7.150';
    const trusted = { addresses: ['127.0.7.151', monitor], client_in: 'X-Forwarded-For' };
    const rpc = { 'rpc-1': { address: '127.0.7.1' } };
    const own = { keys: { alice: both.alice }, key_required: true, methods: { allow: ['who'] }, trusted };
    await contextOf({});
    gateway = await startGateway(
      await gatewayContext(rpc, own, [[['groups', 'monitor'], { 'mon-1': { address: monitor } }]]),
    );
    const asked = async (body: unknown, way: object = {}) =>
      (await ask({ from: monitor, ...way }, body)).status;
    const question = call('eth_blockNumber');
    expect(await asked(question)).toBe(200);
    expect(await asked(question, { from: '127.0.7.1' })).toBe(401);
    expect(await asked(question, { path: `/${alice}` })).toBe(200);
    for (const other of [call('who'), [question], [question, call('who')], call('eth_blocknumber'), '', '{'])
      expect([400, 401, 403], JSON.stringify(other)).toContain(await asked(other));
    expect((await get({ port: ports.http, from: monitor })).status).toBe(401);
    // Nobody says that it is a monitor, and a monitor in front of others asks for them.
    const forwarded = (client: string) => ({ headers: { 'x-forwarded-for': client } });
    expect(await asked(question, { from: '127.0.7.151', ...forwarded(monitor) })).toBe(401);
    expect(await asked(question, forwarded('192.0.2.1'))).toBe(401);
    const upgraded = await openWebSocket(ports.websocket, { from: monitor });
    expect(upgraded.status).toBe(401);
    expect(host.answered).toBe(2);
  });

  test('each has its limits and methods, by HTTP and WebSocket, whatever the address', async () => {
    await start({ keys: both, methods: { deny: ['debug_*'] }, clients: { requests: 100 } });
    const header = (key: string) => ({ headers: { 'x-api-key': key } });
    expect((await ask(header(alice), call('debug_x'))).status).toBe(200);
    expect((await ask(header(alice), call('other'))).status).toBe(403);
    expect((await ask({}, call('debug_x'))).status).toBe(403);
    expect((await ask(header(bob), call('debug_x'))).status).toBe(403);
    expect((await ask(header(bob), batch(3))).text).toContain('a batch of more than 2 requests');
    expect((await ask(header(alice), batch(21))).text).toContain('more than 20 requests in a second');
    expect((await ask({ ...header(alice), from: '127.0.8.2' }, batch(20))).status).toBe(429);
    expect((await ask({}, batch(50))).status).toBe(200);
    const client = await openWebSocket(ports.websocket, { path: `/${bob}` });
    onTestFinished(() => void client.socket.destroy());
    expect(client.status).toBe(101);
    client.say(JSON.stringify(batch(3)));
    expect(String((await client.next())?.content)).toContain('a batch of more than 2 requests');
  });

  test('neither the node, nor a log, nor a metric gets it', async () => {
    const logs = (text: string) =>
      text.replace('global\n', 'global\n    log stderr format raw local0 info\n');
    gateway = await startGateway(await contextOf({ keys: both }), logs);
    for (const way of ways(alice)) await ask(way);
    const client = await openWebSocket(ports.websocket, { path: `/${alice}?key=${alice}` });
    expect(client.status).toBe(101);
    client.socket.destroy();
    // One that is logged: its host ends the connection.
    await host.kill();
    for (const way of ways(alice)) await ask(way);
    expect(host.seen.length).toBeGreaterThan(4);
    expect(host.seen.join('\n')).not.toContain(alice);
    expect(host.seen[0]).toMatch(/^POST \/ /);
    expect(gateway.log() + (await gateway.metrics()) + JSON.stringify(await gateway.fleet())).not.toContain(
      alice,
    );
    expect(gateway.log()).toContain('key=alice POST');
  });

  test('one is added and another withdrawn without a failed request', async () => {
    const { alice: one, bob: other } = both;
    await start({ keys: { alice: { key: one.key } } });
    const statuses = new Set<number>();
    let running = true;
    const load = (async () => {
      while (running) {
        statuses.add((await ask({ path: '/' })).status);
        await sleep(5);
      }
    })();
    expect((await ask({ path: `/${bob}` })).status).toBe(401);
    await gateway.reload(await contextOf({ keys: { bob: other } }));
    // The worker of before may take a last connection.
    const becomes = (key: string, status: number) =>
      until(async () => (await ask({ path: `/${key}` })).status === status, `a key gets ${status}`, 60);
    await becomes(bob, 200);
    await becomes(alice, 401);
    running = false;
    await load;
    expect([...statuses]).toEqual([200]);
  });
});
