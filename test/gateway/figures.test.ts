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
    Object.assign(usual, { slowMethod: 'who', delay: 60 });
    await ask(call(), asAlice);
    const found = await figures();
    expect(found[`seconds_bucket{${without.heavy},le="0.25"}`]).toBe(0);
    expect(found[`seconds_bucket{${without.heavy},le="+Inf"}`]).toBe(1);
    expect(found[`seconds_sum{${ofAlice.heavy}}`]).toBeGreaterThanOrEqual(0.29);
    expect(found[`seconds_bucket{${ofAlice.usual},le="0.05"}`]).toBe(0);
    expect(found[`seconds_count{${ofAlice.usual}}`]).toBe(1);
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
