import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';

/** A provider of layer 1: JSON-RPC on a chain that the test moves. */
export interface Provider {
  readonly port: number;
  chainId: number;
  height: number;
  /** The height that it says, where it is not its own. */
  claims: number | undefined;
  /** Names that its TLS clients have asked for. */
  readonly names: unknown[];
  /** From this block on its hashes are its own. */
  forkedAt: number;
  /** Whether it accepts connections and answers nothing. */
  silent: boolean;
  /** What it answers in place of results to these methods: all where the list is empty. */
  refusal:
    | { readonly status: number; readonly body: string; readonly methods?: readonly string[] }
    | undefined;
  /** Every request, as it came: method, path, host, other headers. */
  readonly seen: Seen[];
  stop(): Promise<void>;
  start(): Promise<void>;
}

interface Seen {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
}

/**
 * @param tls files of a certificate and its key in PEM
 */
export function provider(port: number, tls?: { readonly cert: string; readonly key: string }): Provider {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const own: Provider = {
    port,
    chainId: 5,
    height: 10_000,
    claims: undefined,
    names: [],
    forkedAt: Number.POSITIVE_INFINITY,
    silent: false,
    refusal: undefined,
    seen: [],
    async start() {
      const made = tls
        ? createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) })
        : createServer();
      made.on('request', async (request, response) => {
        const call = JSON.parse(await textOf(request)) as Call;
        own.seen.push({
          at: performance.now(),
          method: call.method,
          path: request.url ?? '',
          headers: request.headers,
        });
        if (own.silent) return;
        const { refusal } = own;
        if (refusal && (refusal.methods?.includes(call.method) ?? true)) {
          response.writeHead(refusal.status, { 'content-type': 'application/json' }).end(refusal.body);
          return;
        }
        const result = resultOf(own, call);
        response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, result }));
      });
      made.on(tls ? 'secureConnection' : 'connection', (socket: Socket & { servername?: string }) => {
        own.names.push(socket.servername);
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      });
      server = made as Server;
      await new Promise<void>((resolve, reject) => {
        made.once('error', reject).listen(port, '127.0.0.1', () => resolve());
      });
    },
    async stop() {
      const closed = new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
      for (const socket of sockets) socket.destroy();
      await closed;
      server = undefined;
    },
  };
  return own;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const hex = (number: number) => `0x${number.toString(16)}`;

function resultOf({ chainId, height, claims, forkedAt, port }: Provider, { method, params }: Call): unknown {
  if (method === 'eth_chainId') return hex(chainId);
  if (method === 'eth_blockNumber') return hex(claims ?? height);
  // Its answers tell which provider the node has asked.
  if (method === 'who') return port;
  if (method !== 'eth_getBlockByNumber') return [];
  const number = params[0] === 'latest' ? height : Number(params[0]);
  if (number > height) return null;
  const hash = `0x${(number >= forkedAt ? 'f' : 'a') + number.toString(16).padStart(63, '0')}`;
  return { number: hex(number), hash, timestamp: hex(Math.floor(Date.now() / 1000)) };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += part;
  return text;
}
