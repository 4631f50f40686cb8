import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { network } from '../../../lab/layout.mjs';

/** The faults of an archive server. */
export interface Behaviour {
  /** Sends the whole file for every request. */
  readonly withoutRanges?: boolean;
  /** HTTP status of the responses to the first N requests for a whole file. */
  readonly failing?: { readonly status: number; readonly times: number };
  /**
   * The first request for a whole file gets half of it, and then nothing more, with the connection
   * open.
   */
  readonly stallsOnce?: boolean;
  /**
   * The first N requests for a whole file get half of the rest, and then the connection is reset.
   */
  readonly resets?: number;
  /** Maximum bytes per second. */
  readonly rate?: number;
}

/** A server on the lab's network. */
export interface ArchiveServer {
  readonly url: (name: string) => string;
  /** Serves these files from now on, with these faults. */
  serve(files: Readonly<Record<string, Buffer>>, behaviour?: Behaviour): void;
  stop(): Promise<void>;
}

/**
 * The part of an archive that the product reads before the download: its first 64 KiB. Such
 * requests are always answered.
 */
const beginning = 64 * 1024;

export async function startArchiveServer(): Promise<ArchiveServer> {
  let files: Readonly<Record<string, Buffer>> = {};
  let behaviour: Behaviour = {};
  let fetches = 0;
  const server = createServer((request, response) => {
    const file = files[(request.url ?? '').slice(1)];
    if (!file) return void response.writeHead(404).end();
    const range = behaviour.withoutRanges ? undefined : rangeOf(request, file.length);
    const whole = request.method === 'GET' && (range?.end ?? file.length) - (range?.start ?? 0) > beginning;
    if (whole || request.method === 'HEAD') fetches += request.method === 'HEAD' ? 0 : 1;
    if (whole && behaviour.failing && fetches <= behaviour.failing.times) {
      return void response.writeHead(behaviour.failing.status).end('not now');
    }
    const body = file.subarray(range?.start ?? 0, range?.end ?? file.length);
    const ranges = behaviour.withoutRanges ? {} : { 'Accept-Ranges': 'bytes' };
    const part = range ? { 'Content-Range': `bytes ${range.start}-${range.end - 1}/${file.length}` } : {};
    response.writeHead(range ? 206 : 200, { 'Content-Length': body.length, ...ranges, ...part });
    if (request.method === 'HEAD') return void response.end();
    if (whole && ((behaviour.stallsOnce && fetches === 1) || fetches <= (behaviour.resets ?? 0))) {
      response.write(body.subarray(0, body.length / 2), () => {
        if (!behaviour.stallsOnce) response.destroy();
      });
      return;
    }
    void send(response, body, whole ? behaviour.rate : undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, network.gateway, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: (name) => `http://${network.gateway}:${address.port}/${name}`,
    serve(served, how = {}) {
      files = served;
      behaviour = how;
      fetches = 0;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * @returns the first requested byte, and the one after the last; undefined for all of them
 */
function rangeOf(request: IncomingMessage, length: number): { start: number; end: number } | undefined {
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  if (start === undefined) return undefined;
  return { start: Number(start), end: end ? Math.min(Number(end) + 1, length) : length };
}

async function send(response: ServerResponse, body: Buffer, rate: number | undefined): Promise<void> {
  if (rate === undefined) return void response.end(body);
  for (let at = 0; at < body.length && !response.destroyed; at += rate / 10) {
    response.write(body.subarray(at, at + rate / 10));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  response.end();
}
