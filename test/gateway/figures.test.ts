import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { openWebSocket } from './web-socket.ts';

const alice = 'a'.repeat(32);
const call = (method = 'who', id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params: [] });
const batch = (length: number) => Array.from({ length }, (_, id) => call('who', id));
const limited = { key: 'env:GATEWAY_ALICE', requests: 20, batch: 8 };

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('figures of clients', () => {
  let hosts: RpcHost[];
  let gateway: Gateway;
  const start = async (own: object = {}, keys: object = { alice: limited }) => {
    process.env.GATEWAY_ALICE = alice;
    const methods = { heavy: ['debug_*'], deny: ['admin_*'] };
    const rpc = {
      'rpc-1': { address: '127.0.7.1' },
      'rpc-2': { address: '127.0.7.2', vars: { methods: 'heavy' } },
    };
    gateway = await startGateway(await gatewayContext(rpc, { keys, methods, ...own }));
  };
  const ask = (body: unknown, way: object = {}) => get({ port: ports.http, body, ...way });
  const asAlice = { headers: { 'x-api-key': alice } };
  /** Values by name and labels. */
  const figures = async (): Promise<Record<string, number>> => {
    const { text } = await get({ port: ports.metrics, path: '/clients' });
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(
      lines.map((line) => [line.replace(/^rpc_node_gateway_| \S+$/g, ''), Number(line.split(' ').pop())]),
    );
  };
  const without = { usual: 'key="(none)",class="usual"', heavy: 'key="(none)",class="heavy"' };
  const ofAlice = { usual: 'key="alice",class="usual"', heavy: 'key="alice",class="heavy"' };

  beforeEach(async () => {
    hosts = [1, 2].map((at) => rpcHost(`rpc-${at}`, `127.0.7.${at}`, rpcPorts));
    await Promise.all(hosts.map((host) => host.start()));
  });
  afterEach(async () => {
    await gateway?.kill();
    await Promise.all(hosts.map((host) => host.kill()));
  });

  test('answers and calls are counted by class of methods and by name of the key', async () => {
    await start();
    for (const body of [call(), batch(3), []]) await ask(body);
    await ask(call('debug_x'));
    await ask(batch(5), asAlice);
    await ask([call(), call('debug_x')], asAlice);
    expect(await figures()).toMatchObject({
      [`answers_total{${without.usual},code="2xx"}`]: 3,
      // An empty batch is a request, too.
      [`calls_total{${without.usual}}`]: 5,
      [`answers_total{${without.heavy},code="2xx"}`]: 1,
      [`calls_total{${without.heavy}}`]: 1,
      [`answers_total{${ofAlice.usual},code="2xx"}`]: 1,
      [`calls_total{${ofAlice.usual}}`]: 5,
      [`calls_total{${ofAlice.heavy}}`]: 2,
    });
  });

  // HAProxy itself judges a call whose id is a number, and Lua any other.
  test.each([1, 'a-1'])(
    'a call with id %j counts once it passes, and not where it is refused',
    async (id) => {
      const ownMethods = { key: 'env:GATEWAY_BOB', methods: { deny: [] } };
      process.env.GATEWAY_BOB = 'b'.repeat(32);
      await start({ clients: { requests: 4 } }, { alice: limited, bob: ownMethods });
      await ask(call('who', id), asAlice);
      await ask(call('who', id), { headers: { 'x-api-key': 'b'.repeat(32) } });
      const many = await Promise.all(Array.from({ length: 12 }, () => ask(call('who', id))));
      const refused = many.filter(({ status }) => status === 429).length;
      expect(refused).toBeGreaterThan(0);
      expect(await figures()).toMatchObject({
        [`calls_total{${ofAlice.usual}}`]: 1,
        'calls_total{key="bob",class="usual"}': 1,
        [`calls_total{${without.usual}}`]: 12 - refused,
        [`answers_total{${without.usual},code="2xx"}`]: 12 - refused,
        [`refused_total{${without.usual},reason="requests"}`]: refused,
        [`seconds_count{${without.usual}}`]: 12 - refused,
      });
    },
  );

  test('each limit that refuses is counted by its name, and errors by their status', async () => {
    await start();
    await ask(batch(9), asAlice);
    await ask(call('admin_x'));
    await ask('{');
    await ask(call(), { headers: { 'x-api-key': 'b'.repeat(32) } });
    await ask('x'.repeat(230_000));
    await ask(call(), { headers: { long: 'x'.repeat(33_000) } });
    for (const body of [batch(8), batch(8), batch(8)]) await ask(body, asAlice);
    await ask(call('debug_x'));
    await hosts[1]?.kill();
    await until(async () => (await ask(call('debug_x'))).status === 503, 'heavy methods have no host', 60);
    const found = await figures();
    expect(found).toMatchObject({
      [`refused_total{${ofAlice.usual},reason="batch"}`]: 1,
      [`refused_total{${ofAlice.usual},reason="requests"}`]: 1,
      [`refused_total{${without.usual},reason="method"}`]: 1,
      [`refused_total{${without.usual},reason="unreadable"}`]: 1,
      [`refused_total{${without.usual},reason="key"}`]: 1,
      [`refused_total{${without.usual},reason="body"}`]: 1,
      [`refused_total{${without.usual},reason="headers"}`]: 1,
      [`answers_total{${ofAlice.usual},code="4xx"}`]: 2,
    });
    expect(found[`answers_total{${without.heavy},code="5xx"}`]).toBeGreaterThan(0);
    // Refused requests are not among those that were measured.
    expect(found[`seconds_count{${ofAlice.usual}}`]).toBe(2);
  });

  test('the time of an answer is in the histogram of its class and key', async () => {
    await start();
    const [usual, heavy] = hosts as [RpcHost, RpcHost];
    Object.assign(heavy, { slowMethod: 'debug_x', delay: 300 });
    await Promise.all([ask(call('debug_x')), ask(call('debug_x'), asAlice)]);
    expect((await figures())[`seconds_bucket{${without.heavy},le="0.25"}`]).toBe(0);
    // HAProxy itself counts a call whose id is a number and that takes up to a second.
    const took: number[] = [];
    for (const [id, delay] of [
      [1, 60],
      [2, 300],
      ['a', 300],
      [3, 1100],
    ] as const) {
      Object.assign(usual, { slowMethod: 'who', delay });
      const started = performance.now();
      await ask(call('who', id), asAlice);
      took.push(performance.now() - started);
    }
    const found = await figures();
    expect(found[`seconds_bucket{${without.heavy},le="+Inf"}`]).toBe(1);
    expect(found[`seconds_sum{${ofAlice.heavy}}`]).toBeGreaterThanOrEqual(0.29);
    const counts = ['0.05', '0.25', '1', '+Inf'].map(
      (bound) => found[`seconds_bucket{${ofAlice.usual},le="${bound}"}`] ?? Number.NaN,
    );
    expect(counts[0]).toBe(0);
    // A loaded machine adds to the times, as the client sees them, too.
    expect(counts[1]).toBeGreaterThanOrEqual(took.filter((each) => each <= 250).length);
    expect(counts[2]).toBeGreaterThanOrEqual(took.filter((each) => each <= 1000).length);
    expect(counts[2]).toBeLessThanOrEqual(3);
    expect(counts[3]).toBe(4);
    const sum = found[`seconds_sum{${ofAlice.usual}}`];
    const all = took.reduce((one, other) => one + other) / 1000;
    expect(sum).toBeGreaterThan(1.75);
    expect(sum).toBeLessThanOrEqual(all);
    // Each is taken over once.
    expect(await figures()).toEqual(found);
  });

  test('messages of WebSockets are counted by the name of the key', async () => {
    await start();
    const answer = async (path: string, body: unknown) => {
      const client = await openWebSocket(ports.websocket, { path });
      onTestFinished(() => void client.socket.destroy());
      client.say(JSON.stringify(body));
      await client.next();
    };
    await answer(`/${alice}`, batch(4));
    await answer(`/${alice}`, batch(9));
    await answer('/', call());
    expect(await figures()).toMatchObject({
      'calls_total{key="alice",class="websocket"}': 4,
      'refused_total{key="alice",class="websocket",reason="message"}': 1,
      'calls_total{key="(none)",class="websocket"}': 1,
      'answers_total{key="alice",class="websocket",code="1xx"}': 2,
    });
    expect((await gateway.fleet()).refused_messages).toBe(1);
  });

  test('no client can add a name: neither a key, nor an address, nor a method is one', async () => {
    await start();
    for (let at = 0; at < 40; at += 1) {
      const key = `${at}`.padStart(24, 'k');
      await ask(call(`m_${at}`), { path: `/${key}`, from: `127.0.8.${at + 1}` });
      await ask(call(`m_${at}`), { from: `127.0.8.${at + 1}`, headers: { 'x-api-key': `alice" ${at}` } });
      await ask(call(`debug_${at}`), { ...asAlice, from: `127.0.8.${at + 1}` });
    }
    const { text } = await get({ port: ports.metrics, path: '/clients' });
    expect(new Set(text.match(/key="[^"]*",class="[^"]*"/g))).toEqual(
      new Set([without.usual, ofAlice.heavy]),
    );
    expect(text).not.toMatch(/127\.|kkk|m_\d|aaaa/);
    expect(text.split('\n').length).toBeLessThan(60);
  });
});
