import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { agreesToWebSocket } from '../../lib/node/testing/web-socket-server.ts';

/** An RPC host of the test: JSON-RPC on a chain that the test moves. */
export interface RpcHost {
  readonly name: string;
  height: number;
  /** From this block on its hashes are its own. */
  forkedAt: number;
  /** Whether it accepts connections and answers nothing. */
  silent: boolean;
  /** Milliseconds before an answer to `slowMethod`. */
  delay: number;
  slowMethod: string;
  /** Requests of clients that it has answered. */
  answered: number;
  /** Ends at once, with all its connections, as a killed host does. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/**
 * @param ports for HTTP and WebSocket
 */
export function rpcHost(name: string, address: string, ports: { http: number; websocket: number }): RpcHost {
  const sockets = new Set<Socket>();
  let servers: Server[] = [];
  const listen = (server: Server, port: number) =>
    new Promise<void>((resolve, reject) => {
      server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      });
      server.once('error', reject).listen(port, address, () => resolve());
    });
  const host: RpcHost = {
    name,
    height: 1000,
    forkedAt: Number.POSITIVE_INFINITY,
    silent: false,
    delay: 0,
    slowMethod: 'slow',
    answered: 0,
    async start() {
      const http = createServer(async (request, response) => {
        const body = JSON.parse(await textOf(request)) as Call | Call[];
        if (host.silent) return;
        const answer = Array.isArray(body)
          ? await Promise.all(body.map((call) => answerTo(host, call, request)))
          : await answerTo(host, body, request);
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      });
      const websocket = createServer().on('upgrade', (request, socket) => {
        agreesToWebSocket(request, socket, { 'x-host': name });
      });
      servers = [http, websocket];
      await listen(http, ports.http);
      await listen(websocket, ports.websocket);
    },
    async kill() {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
  return host;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

async function answerTo(host: RpcHost, { id, method, params = [] }: Call, request: IncomingMessage) {
  // The gateway asks for blocks without their transactions.
  if (method !== 'eth_getBlockByNumber') host.answered += 1;
  if (method === host.slowMethod) await new Promise((resolve) => setTimeout(resolve, host.delay));
  return { jsonrpc: '2.0', id, result: resultOf(host, method, params, request) };
}

function resultOf(
  host: RpcHost,
  method: string,
  [which]: readonly unknown[],
  request: IncomingMessage,
): unknown {
  if (method === 'eth_blockNumber') return hex(host.height);
  if (method !== 'eth_getBlockByNumber') {
    return { host: host.name, height: host.height, from: request.headers['x-forwarded-for'] };
  }
  const height = which === 'latest' ? host.height : Number(which);
  if (height > host.height) return null;
  const chain = height >= host.forkedAt ? host.name : 'common';
  const hash = (text: string) => `0x${createHash('sha256').update(text).digest('hex')}`;
  return {
    number: hex(height),
    parentHash: hash(`parent ${height}`),
    hash: hash(`${chain} ${height}`),
    transactions: [],
  };
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
