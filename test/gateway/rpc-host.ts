import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { agreesToWebSocket } from '../../lib/node/testing/web-socket-server.ts';
import { bytesOf, opcodes, readAllFrames } from './web-socket.ts';

/** An RPC host of the test: JSON-RPC on a chain that the test moves. */
export interface RpcHost {
  readonly name: string;
  height: number;
  /** From this block on its hashes are its own. */
  forkedAt: number;
  /** Whether it accepts connections and answers nothing. */
  silent: boolean;
  /** How it answers the gateway's own eth_call: with an error as the node without its prover, or not at all. */
  executes: 'well' | 'no prover' | 'no method' | 'hangs';
  /** Milliseconds before an answer to `slowMethod`. */
  delay: number;
  slowMethod: string;
  /** Whether it closes the connection of each third request `who` without an answer. */
  breaksOff: boolean;
  /** Whether pings of WebSockets get no answer. */
  ignoresPings: boolean;
  /** Pings of WebSockets that have come. */
  pings: number;
  /** Messages of WebSockets, as they came. */
  readonly messages: string[];
  /** The head of each request, as it came. */
  readonly seen: string[];
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
  let asked = 0;
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
    executes: 'well',
    delay: 0,
    slowMethod: 'slow',
    breaksOff: false,
    ignoresPings: false,
    pings: 0,
    messages: [],
    seen: [],
    answered: 0,
    async start() {
      // As much as the node's Go takes.
      const http = createServer({ maxHeaderSize: 1024 * 1024 }, async (request, response) => {
        host.seen.push(headOf(request));
        if (request.method === 'OPTIONS') return void response.writeHead(204).end();
        const body = JSON.parse(await textOf(request)) as Call | Call[];
        if (host.silent) return;
        if (host.breaksOff && !Array.isArray(body) && body.method === 'who' && ++asked % 3 === 0)
          return void request.socket.destroy();
        const answer = Array.isArray(body)
          ? await Promise.all(body.map((call) => answerTo(host, call, request)))
          : await answerTo(host, body, request);
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      });
      const websocket = createServer().on('upgrade', (request, socket) => {
        // As the node does: Node.js keeps a half of such a connection open.
        socket.on('end', () => socket.end());
        host.seen.push(headOf(request));
        if (agreesToWebSocket(request, socket, { 'x-host': name })) serveMessages(host, request, socket);
      });
      // As the node, which closes idle connections after its ReadTimeout. After the 5 s of Node.js, a busy gateway could
      // send a request into a connection that ends.
      http.keepAliveTimeout = 60_000;
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

/** Answers messages one after the other, as the node does. */
function serveMessages(host: RpcHost, request: IncomingMessage, socket: Duplex): void {
  const parts: Buffer[] = [];
  let turn = Promise.resolve();
  readAllFrames(socket, ({ isLast, opcode, content }) => {
    if (opcode === opcodes.close) return void socket.end(bytesOf(opcodes.close, content));
    if (opcode === opcodes.ping) {
      host.pings += 1;
      if (!host.ignoresPings) turn = turn.then(() => void socket.write(bytesOf(opcodes.pong, content)));
    }
    if (opcode >= opcodes.close) return;
    parts.push(content);
    if (!isLast) return;
    const text = Buffer.concat(parts.splice(0)).toString();
    host.messages.push(text);
    turn = turn.then(async () => {
      const body = JSON.parse(text) as Call | Call[];
      const answers = await Promise.all([body].flat().map((call) => answerTo(host, call, request)));
      const bytes = Buffer.from(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
      // In two frames, with one in between that is none of the message.
      socket.write(bytesOf(opcodes.text, bytes.subarray(0, 5), { isLast: false }));
      socket.write(bytesOf(opcodes.ping, 'alive'));
      socket.write(bytesOf(opcodes.continuation, bytes.subarray(5)));
    });
  });
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** The gateway's own call is of nobody and to nobody. */
const isTry = ({ method, params: [first] = [] }: Call) =>
  method === 'eth_call' && /^0x0{40}$/.test(String(Object(first).to));
/** The gateway asks for blocks without their transactions. */
const isOfClient = (call: Call) => call.method !== 'eth_getBlockByNumber' && !isTry(call);

/** As zkevm-node answers eth_call (Call of jsonrpc/endpoints_eth.go, notFound of jsonrpc/handler.go). */
const errorsOfTries = {
  'no prover': {
    code: -32000,
    message:
      'failed to execute the unsigned transaction: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 172.18.0.2:50071: connect: connection refused"',
  },
  'no method': { code: -32601, message: 'the method eth_call does not exist/is not available' },
};

async function answerTo(host: RpcHost, call: Call, request: IncomingMessage) {
  const { id, method, params = [] } = call;
  if (isOfClient(call)) host.answered += 1;
  if (isTry(call) && host.executes === 'hangs') return new Promise<never>(() => {});
  if (isTry(call) && host.executes !== 'well' && host.executes !== 'hangs')
    return { jsonrpc: '2.0', id, error: errorsOfTries[host.executes] };
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
  // As zkevm-node does (GetBlockByNumber of jsonrpc/endpoints_eth.go).
  const numbers = new Map<unknown, number>([
    ['latest', host.height],
    ['', host.height],
    ['pending', host.height + 1],
  ]);
  const height = numbers.get(which) ?? Number(which);
  if (height > host.height && which !== 'pending') return null;
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

function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  return `${method} ${url} ${rawHeaders.join(' ')}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
