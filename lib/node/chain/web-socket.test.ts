import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { localHost } from '../testing/local-host.ts';
import { agreesToWebSocket, readFrames, serverFrame } from '../testing/web-socket-server.ts';
import { askWebSocket } from './web-socket.ts';

/** The pair that RFC 6455 itself works out, in section 1.3. */
const rfc = { key: 'dGhlIHNhbXBsZSBub25jZQ==', accept: 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' };

async function listen(server: Server | TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * A strict server that answers the first frame of a client with these bytes, and remembers all
 * frames.
 */
async function strictServer(...answer: Buffer[]) {
  const frames: { first: number; content: Buffer }[] = [];
  const keys: string[] = [];
  const server = createServer().on('upgrade', (asked, socket: Duplex) => {
    keys.push(asked.headers['sec-websocket-key'] ?? '');
    if (!agreesToWebSocket(asked, socket)) return;
    readFrames(socket, (first, content) => {
      frames.push({ first, content });
      if (first === 0x81) for (const part of answer) socket.write(part);
    });
  });
  return { port: await listen(server), frames, keys };
}

/** A server of plain bytes. */
function answering(text: string) {
  return listen(
    createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.write(text))),
  );
}

const ask = (port: number, limit = 5) => askWebSocket(localHost(), port, limit);

/** The words for a port, with the port itself left out. */
async function wordsFor(port: number, limit = 5): Promise<string> {
  const answer = await ask(port, limit);
  if (answer.ok) throw new Error('it answered');
  expect(answer.error).toMatch(`ws://localhost:${port} `);
  return answer.error.replace(`ws://localhost:${port} `, '');
}

const result = (value: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: value });

test('the strict server proves the key of the RFC as the RFC does', async () => {
  const { port } = await strictServer();
  const headers = { connection: 'keep-alive, Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const answerTo = (key: string) =>
    new Promise<IncomingMessage>((resolve) => {
      const sent = request({ port, headers: { ...headers, 'sec-websocket-key': key } });
      sent.on('response', resolve).on('upgrade', (answer, socket) => {
        socket.destroy();
        resolve(answer);
      });
      sent.on('error', () => {}).end();
    });
  expect((await answerTo(rfc.key)).headers['sec-websocket-accept']).toBe(rfc.accept);
  // 17 bytes.
  expect((await answerTo('cnBjLXBsYXlib29rcyBrZXk=')).statusCode).toBe(400);
});

test('the key is 16 bytes in base64, another one each time', async () => {
  const { port, keys } = await strictServer(serverFrame(0x81, result('0x10')));
  for (let asked = 0; asked < 5; asked += 1) await ask(port);
  expect(new Set(keys).size).toBe(5);
  for (const key of keys) {
    expect(Buffer.from(key, 'base64')).toHaveLength(16);
    expect(key).toMatch(/^[A-Za-z0-9+/]{22}==$/);
  }
});

test('a strict server agrees, reads the request, and sees the end of the WebSocket', async () => {
  const { port, frames } = await strictServer(serverFrame(0x81, result('0x10')));
  expect(await ask(port)).toEqual({ ok: true, value: '0x10' });
  await expect.poll(() => frames.length).toBe(2);
  expect(frames[0]?.first).toBe(0x81);
  expect(frames[0]?.content.toString()).toBe(
    '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}',
  );
  // Code 1000, a normal end.
  expect(frames[1]).toEqual({ first: 0x88, content: Buffer.from([0x03, 0xe8]) });
});

test.each([
  ['a long answer', [serverFrame(0x81, result(`0x1${'0'.repeat(400)}`))]],
  ['an answer as bytes', [serverFrame(0x82, result('0x10'))]],
  [
    'an answer after a ping and a pong',
    [serverFrame(0x89, 'hi'), serverFrame(0x8a, ''), serverFrame(0x81, result('0x10'))],
  ],
  [
    'an answer in pieces, with a ping in between',
    [
      serverFrame(0x01, '{"jsonrpc":"2.0",'),
      serverFrame(0x89, ''),
      serverFrame(0x80, '"id":1,"result":"0x10"}'),
    ],
  ],
])('%s is read', async (_, answer) => {
  const { port } = await strictServer(...answer);
  expect(await ask(port)).toMatchObject({ ok: true });
});

test.each([
  [
    'an error',
    [serverFrame(0x81, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no block"}}')],
    'answers an error: -32000 no block',
  ],
  ['no JSON', [serverFrame(0x81, 'hello')], 'answers no JSON: hello'],
  [
    'a close',
    [serverFrame(0x88, Buffer.from('\x03\xf0no requests here', 'latin1'))],
    'closes the WebSocket: 1008 no requests here',
  ],
  ['a close without a code', [serverFrame(0x88, '')], 'closes the WebSocket: without a code'],
  [
    'a masked frame',
    [Buffer.from([0x81, 0x82, 1, 2, 3, 4, 5, 6])],
    'sends a masked frame, which only a client may (RFC 6455, section 5.1)',
  ],
  [
    'a text of 70,000 bytes',
    [Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]), Buffer.alloc(70_000, 'x')],
    `answers no JSON: ${'x'.repeat(80)}`,
  ],
])('after the handshake a server may send %s', async (_, answer, words) => {
  const { port } = await strictServer(...answer);
  expect(await wordsFor(port)).toBe(words);
});

test('a server that agrees and then says nothing gives no JSON', async () => {
  const { port } = await strictServer();
  expect(await wordsFor(port, 1)).toBe('answers no JSON: (nothing)');
});

const switching = 'HTTP/1.1 101 Switching Protocols\r\n';
const upgraded = `${switching}Upgrade: websocket\r\nConnection: Upgrade\r\n`;

test.each([
  [
    'the accept of another key',
    `${upgraded}Sec-WebSocket-Accept: ${rfc.accept}\r\n\r\n`,
    /^answers HTTP 101, but with Sec-WebSocket-Accept s3pPLMBiTxaQ9kYGzzhZRbK\+xOo= and not [A-Za-z0-9+/]{27}=, which belongs to our key: it is no WebSocket server, or a cache answers for it$/,
  ],
  [
    'no accept',
    `${upgraded}\r\n`,
    /^answers HTTP 101, but without Sec-WebSocket-Accept: \S{28}, which belongs to our key/,
  ],
  [
    'another protocol',
    `${switching}Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n`,
    /^answers HTTP 101, but with Upgrade h2c and not websocket$/,
  ],
  [
    'no connection header',
    `${switching}Upgrade: WebSocket\r\n\r\n`,
    /^answers HTTP 101, but without Connection: Upgrade$/,
  ],
  [
    'HTTP 400',
    'HTTP/1.1 400 Bad Request\r\nSec-Websocket-Version: 13\r\n\r\nBad Request\n',
    /^refuses the WebSocket handshake with HTTP 400 Bad Request: it finds a fault in the request, and its log names the fault$/,
  ],
  [
    'HTTP 403',
    'HTTP/1.1 403 Forbidden\r\n\r\n',
    /^refuses the WebSocket handshake with HTTP 403 Forbidden: it does not serve this caller or this Origin$/,
  ],
  [
    'HTTP 426 with a version',
    'HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 7, 8\r\n\r\n',
    /^refuses the WebSocket handshake with HTTP 426 Upgrade Required: it wants WebSocket version 7, 8 and not 13$/,
  ],
  [
    'HTTP 426 with a protocol',
    'HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\n\r\n',
    /^refuses the WebSocket handshake with HTTP 426 Upgrade Required: it wants Upgrade: TLS\/1.2$/,
  ],
  [
    'HTTP 503',
    'HTTP/1.1 503 Service Unavailable\r\n\r\n',
    /^refuses the WebSocket handshake with HTTP 503 Service Unavailable$/,
  ],
  [
    'something else than HTTP',
    'SSH-2.0-OpenSSH_9.2\r\n',
    /^does not speak HTTP: it answers "SSH-2.0-OpenSSH_9.2"$/,
  ],
])('a handshake that is answered with %s is named', async (_, answer, words) => {
  // A server that closes after it: the rest of a line never comes.
  const server = createTcpServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.end(answer)),
  );
  expect(await wordsFor(await listen(server))).toMatch(words);
});

test('what nobody asked for is a fault', async () => {
  const server = createServer().on('upgrade', (asked, socket: Duplex) => {
    agreesToWebSocket(asked, socket, { 'sec-websocket-extensions': 'permessage-deflate' });
  });
  expect(await wordsFor(await listen(server), 1)).toBe(
    'answers HTTP 101, with Sec-WebSocket-Extensions permessage-deflate, which nobody asked for',
  );
});

test('a plain HTTP server is named as such', async () => {
  const port = await listen(createServer((_, response) => response.end('zkEVM JSON RPC Server')));
  expect(await wordsFor(port)).toBe(
    'is a plain HTTP server and no WebSocket: it answers HTTP 200 OK; compare ports.rpc_websocket and RPC.WebSockets of node_config',
  );
});

test('no answer has its reason', async () => {
  expect(await wordsFor(await answering(''), 1)).toBe('does not answer: it sends nothing within 1 s');
  const closing = await listen(createTcpServer((socket) => socket.on('error', () => {}).end()));
  expect(await wordsFor(closing)).toBe('does not answer: it closes the connection');
  const server = createServer();
  const free = await new Promise<number>((resolve) =>
    server.listen(0, () => resolve((server.address() as AddressInfo).port)),
  );
  await new Promise((resolve) => server.close(resolve));
  expect(await wordsFor(free)).toBe('does not answer: Connection refused');
});

test.each([
  [3, 'bash ended with exit code 3'],
  // As timeout ends it.
  [124, 'it takes longer than its time limit'],
])('a host whose bash gives no reason is named with the exit code %d', async (code, words) => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'bash'), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 });
  expect(await askWebSocket(localHost(folder), 1, 1)).toEqual({
    ok: false,
    error: `ws://localhost:1 does not answer: ${words}`,
  });
});
