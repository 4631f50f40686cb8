import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { openWebSocket } from './web-socket.ts';

const call = { jsonrpc: '2.0', id: 7, method: 'who', params: [] };
const provider = { address: '127.0.7.50', port: 28400 };

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('fallback', () => {
  let host: RpcHost;
  let gateway: Gateway | undefined;
  let server: Server;
  const seen: IncomingMessage[] = [];
  const start = async (address: string | undefined) => {
    process.env.GATEWAY_FALLBACK = address;
    const own = address === undefined ? {} : { fallback: 'env:GATEWAY_FALLBACK' };
    gateway = await startGateway(await gatewayContext({ 'rpc-1': { address: '127.0.7.1' } }, own));
    return gateway;
  };
  const headers = {
    cookie: 'a=b',
    authorization: 'x',
    'cf-connecting-ip': '192.0.2.7',
    forwarded: 'for=192.0.2.7',
  };
  const ask = () => get({ port: ports.http, body: call, headers });
  const serves = async () => (await gateway?.fleet())?.hosts.some((each) => each.serves) ?? false;

  beforeEach(async () => {
    host = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await host.start();
    server = createServer((request, response) => {
      seen.push(request);
      response.end('{"jsonrpc":"2.0","id":7,"result":"provider"}');
    });
    await new Promise<void>((resolve) => server.listen(provider.port, provider.address, resolve));
    seen.length = 0;
  });
  afterEach(async () => {
    await gateway?.kill();
    await host.kill();
    await new Promise((resolve) => server.close(resolve));
  });

  test('a provider answers while no RPC host may, with a mark, and is not asked before and after', async () => {
    const { drain, undrain, metrics } = await start(
      `http://${provider.address}:${provider.port}/v2/KEY-1?a=%20b`,
    );
    expect((await ask()).headers['x-fallback']).toBeUndefined();
    await drain('rpc-1', 'test');
    await until(async () => !(await serves()), 'rpc-1 is out', 60);
    const { status, text, headers } = await ask();
    expect([status, JSON.parse(text).result, headers['x-fallback']]).toEqual([200, 'provider', 'provider']);
    // A page in a browser may read it.
    expect(headers['access-control-allow-origin']).toBe('*');
    expect((await get({ port: ports.http, method: 'OPTIONS' })).status).toBe(204);
    const [request] = seen;
    const sent = request?.headers ?? {};
    expect([request?.url, sent.host]).toEqual(['/v2/KEY-1?a=%20b', `${provider.address}:${provider.port}`]);
    expect(Object.keys(sent).sort()).toEqual(['content-length', 'host']);
    expect(await metrics()).toMatch(
      /haproxy_backend_http_responses_total\{proxy="fallback",code="2xx"\} 1\n/,
    );
    expect((await openWebSocket(ports.websocket)).status).toBe(503);
    await undrain('rpc-1');
    await until(serves, 'rpc-1 is back', 60);
    expect(JSON.parse((await ask()).text).result.host).toBe('rpc-1');
    expect(seen.length).toBe(1);
  });

  test('heights do not go back from the own hosts to a provider, nor from it to them', async () => {
    let height = 997;
    server.removeAllListeners('request');
    server.on('request', (_, response) => {
      response.end(`{"jsonrpc":"2.0","id":7,"result":"0x${height.toString(16)}"}`);
    });
    const { drain, undrain } = await start(`http://${provider.address}:${provider.port}/`);
    const shown = async () => {
      const { text } = await get({ port: ports.http, body: { ...call, method: 'eth_blockNumber' } });
      expect(JSON.parse(text).id).toBe(7);
      return Number(JSON.parse(text).result);
    };
    expect(await shown()).toBe(1000);
    await drain('rpc-1', 'test');
    await until(async () => !(await serves()), 'rpc-1 is out', 60);
    expect(await shown()).toBe(1000);
    height = 1004;
    expect(await shown()).toBe(1004);
    // A provider that is far behind, by more than gateway.most_behind, is not hidden.
    height = 400;
    expect(await shown()).toBe(400);
    await undrain('rpc-1');
    await until(serves, 'rpc-1 is back', 60);
    setTimeout(() => {
      host.height = 1004;
    }, 700);
    expect(await shown()).toBe(1004);
  });

  test('nobody gets a tunnel to it, through which bytes would pass that nobody judges', async () => {
    const upgraded: string[] = [];
    server.on('upgrade', ({ url }, socket) => {
      upgraded.push(url ?? '');
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    server.on('connect', ({ url }, socket) => {
      upgraded.push(url ?? '');
      socket.end('HTTP/1.1 200 OK\r\n\r\n');
    });
    const { drain } = await start(`http://${provider.address}:${provider.port}/`);
    await drain('rpc-1', 'test');
    await until(async () => !(await serves()), 'rpc-1 is out', 60);
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    };
    expect((await get({ port: ports.http, headers: upgrade })).status).toBe(200);
    const connect = { method: 'CONNECT', path: 'rpc.example:80', headers: { host: 'rpc.example:80' } };
    expect((await get({ port: ports.http, ...connect })).status).toBe(405);
    expect(upgraded).toEqual([]);
  });

  test('without one clients get 503, as they do where the provider does not speak TLS as its address says', async () => {
    for (const address of [undefined, `https://${provider.address}:${provider.port}/`]) {
      const { drain, kill } = await start(address);
      await drain('rpc-1', 'test');
      await until(async () => !(await serves()), 'rpc-1 is out', 60);
      expect((await ask()).status).toBe(503);
      await kill();
    }
    expect(seen).toEqual([]);
  });
});
