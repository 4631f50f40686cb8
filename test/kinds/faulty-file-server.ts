import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The content of one file, and its faults. */
export interface Served {
  readonly content: Buffer;
  readonly etag?: string;
  /** Sends the whole file for every request. */
  readonly withoutRanges?: boolean;
  /**
   * HTTP status of the first N responses to GET; with headers, also of the HEAD requests between
   * them.
   */
  readonly failing?: {
    readonly status: number;
    readonly times: number;
    readonly headers?: OutgoingHttpHeaders;
  };
  /**
   * The first N responses to GET end halfway: the connection is reset, or becomes silent; or
   * nothing follows the headers.
   */
  readonly breaking?: { readonly times: number; readonly how: 'reset' | 'silence' | 'mute' };
  /** Maximum bytes per second of one connection. */
  readonly rate?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** Target of a redirect. */
  readonly location?: string;
  /** Status of responses to HEAD. */
  readonly failingHead?: number;
  /** Tells no size in responses to GET. */
  readonly withoutSize?: boolean;
  /** The size in responses to HEAD, instead of the real one. */
  readonly toldSize?: number;
}

/** A request for a file. */
export interface Asked {
  readonly path: string;
  readonly range: string | undefined;
  readonly headers: IncomingMessage['headers'];
  /** Bytes of content that were sent. */
  sent: number;
}

export function contentOf(size: number): { readonly content: Buffer; readonly hash: string } {
  const content = randomBytes(size);
  return { content, hash: createHash('sha256').update(content).digest('hex') };
}

/** A file server on this machine, with configurable faults. */
export async function startFaultyFileServer() {
  const files = new Map<string, Served>();
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    if (!file) {
      if (request.method === 'GET') asked.push(askedBy(request));
      return void response.writeHead(404).end();
    }
    if (file.location) return void response.writeHead(302, { location: file.location }).end();
    const { etag, content, headers = {} } = file;
    const named = { ...headers, ...(etag ? { etag } : {}) };
    const earlier = asked.filter(({ path }) => path === request.url).length;
    const { failing = { times: 0, status: 0 }, breaking } = file;
    if (request.method === 'HEAD') {
      if (file.failingHead) return void response.writeHead(file.failingHead).end();
      if (earlier > 0 && earlier < failing.times && failing.headers) {
        return void response.writeHead(failing.status, failing.headers).end();
      }
      return void response
        .writeHead(200, { 'content-length': file.toldSize ?? content.length, ...named })
        .end();
    }
    const entry = askedBy(request);
    asked.push(entry);
    if (earlier < failing.times) return void response.writeHead(failing.status, failing.headers).end();
    const range = file.withoutRanges ? null : /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const from = Number(range?.[1] ?? 0);
    const to = range?.[2] ? Number(range[2]) + 1 : content.length;
    if (range && from >= content.length) return void response.writeHead(416).end();
    response.writeHead(range ? 206 : 200, {
      ...(file.withoutSize ? {} : { 'content-length': to - from }),
      ...(file.withoutRanges ? {} : { 'accept-ranges': 'bytes' }),
      ...(range ? { 'content-range': `bytes ${from}-${to - 1}/${content.length}` } : {}),
      ...named,
    });
    const breaks = breaking !== undefined && earlier < breaking.times;
    const share = breaking?.how === 'mute' ? 0 : 0.5;
    const until = breaks ? from + Math.floor((to - from) * share) : to;
    send(response, content.subarray(from, until), file.rate, entry, () => {
      if (!breaks) response.end();
      else if (breaking.how === 'reset') response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    serve: (path: string, file: Served) => void files.set(path, file),
    /** Requests for this path by GET, in their order. */
    asked: (path: string) => asked.filter((each) => each.path === path),
    sent: (path: string) =>
      asked.filter((each) => each.path === path).reduce((sum, { sent }) => sum + sent, 0),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function askedBy({ url = '', headers }: IncomingMessage): Asked {
  return { path: url, range: headers.range, headers, sent: 0 };
}

/** Between two chunks of a rate-limited response. Milliseconds. */
const beat = 20;

function send(
  response: ServerResponse,
  body: Buffer,
  rate: number | undefined,
  entry: Asked,
  end: () => void,
): void {
  const piece = rate === undefined ? 256 * 1024 : Math.ceil((rate * beat) / 1000);
  let at = 0;
  const next = (): void => {
    if (response.destroyed) return;
    if (at >= body.length) {
      end();
      return;
    }
    const bytes = body.subarray(at, at + piece);
    at += bytes.length;
    response.write(bytes, () => {
      entry.sent += bytes.length;
      setTimeout(next, rate === undefined ? 0 : beat);
    });
  };
  next();
}
