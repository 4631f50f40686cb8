import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';

/** In place of port 80. */
const challengePort = 28080;
const call = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };

/** A HAProxy for a hundredth of the connections, without a certificate. */
const small = (text: string) =>
  text
    .replace(/fd-hard-limit (\d+)/, (_, limit) => `fd-hard-limit ${Math.round(limit / 100)}`)
    .replaceAll(/maxconn (\d+)000$/gm, (_, thousands) => `maxconn ${thousands}0`)
    .replace('bind *:80\n', `bind *:${challengePort}\n`)
    .replace(/^.*bind :::80 .*\n/m, '')
    .replaceAll(/ ssl crt \S+/g, '');

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('room for others', () => {
  let host: RpcHost;
  let gateway: Gateway;
  let sockets: Socket[] = [];
  /** Connections that stay open, from 50 addresses. */
  const open = async (number: number, port: number, text: string) => {
    sockets = Array.from({ length: number }, (_, at) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.8.${1 + (at % 50)}` });
      socket.on('error', () => {}).write(text);
      return socket;
    });
    await sleep(1000);
  };
  const sessionsOf = async (proxy: string) => {
    const metric = new RegExp(`^haproxy_frontend_current_sessions\\{proxy="${proxy}"\\} (\\d+)`, 'm');
    return Number(metric.exec(await gateway.metrics())?.[1]);
  };

  beforeEach(async () => {
    host = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await host.start();
    const tls = { acme: { email: 'ops@rpc.example' }, names: ['rpc.example'] };
    gateway = await startGateway(await gatewayContext({ 'rpc-1': { address: '127.0.7.1' } }, { tls }), small);
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await gateway?.kill();
    await host.kill();
  });

  test('who opens many connections to port 80 keeps no client and no monitor out', async () => {
    await open(1500, challengePort, 'GET / HTTP/1.1\r\n');
    const started = performance.now();
    expect((await get({ port: ports.http, body: call })).status).toBe(200);
    expect(await sessionsOf('acme')).toBe(200);
    // Less than a request may take to arrive.
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test('one address on port 80 leaves room for the ACME server, and an answer ends its connection', async () => {
    const ask = async (from: string) =>
      (await get({ port: challengePort, from, headers: { connection: 'keep-alive' } })).headers.connection;
    sockets = Array.from({ length: 300 }, () => {
      const socket = connect({ port: challengePort, host: '127.0.0.1', localAddress: '127.0.8.1' });
      socket.on('error', () => {}).write('GET / HTTP/1.1\r\n');
      return socket;
    });
    await until(async () => sockets.filter(({ closed }) => closed).length >= 280, 'the others are refused');
    expect(await ask('127.0.8.2')).toBe('close');
    await until(async () => (await ask('127.0.8.1')) === 'close', 'a request that does not arrive ends');
  });

  test('clients that fill the gateway leave room for the monitor', async () => {
    await open(1500, ports.http, 'POST / HTTP/1.1\r\n');
    expect(await sessionsOf('rpc')).toBe(320);
    expect((await gateway.fleet()).judged).toBe(true);
  });
});
