import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { haproxyEnvironment } from '../../lib/node/gateway/environment.ts';
import type { Fleet } from '../../lib/node/gateway/fleet.ts';
import { gatewayFolder } from '../../lib/node/gateway/paths.ts';
import { gatewayFiles } from '../../lib/node/gateway/render.ts';
import type { RenderContext } from '../../lib/node/render/render-context.ts';

/** A real HAProxy with the files of a gateway, as this user and outside of any chroot. */
export interface Gateway {
  readonly ports: { readonly http: number; readonly websocket: number; readonly metrics: number };
  /** Of its master, which a SIGUSR2 reloads. */
  readonly pid: number | undefined;
  fleet(): Promise<Fleet>;
  metrics(): Promise<string>;
  drain(host: string, reason: string): Promise<void>;
  undrain(host: string): Promise<void>;
  /** Gives HAProxy other files, as a deploy does. */
  reload(context: RenderContext): Promise<void>;
  /** As a power failure. */
  kill(): Promise<void>;
  log(): string;
}

/**
 * @param edit of its configuration, for what the test has elsewhere
 * @param within words in front of the program, such as those of nsenter
 */
export async function startGateway(
  context: RenderContext,
  edit: (text: string) => string = (text) => text,
  within: readonly string[] = [],
): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  const drained = join(folder, 'drained');
  await mkdir(drained);
  const write = async (of: RenderContext) => {
    const { files, hash } = gatewayFiles(of);
    for (const { path, content } of files) {
      const text = typeof content === 'string' ? content : content.text;
      const own = text
        .replace(/^ +(chroot|user|group|stats socket|log \/dev).*\n/gm, '')
        .replace('FLEET_DRAINED /drained', `FLEET_DRAINED ${drained}`)
        .replaceAll(`lua-load-per-thread ${gatewayFolder}/`, `lua-load-per-thread ${folder}/`)
        .replaceAll(/unix@\S*\/messages\//g, `unix@${folder}/`)
        .replaceAll(' mode 600 user haproxy', '');
      await writeFile(join(folder, basename(path)), edit(own));
    }
    return hash;
  };
  await write(context);
  const { http, websocket, metrics } = context.vars.gateway;
  let log = '';
  const [program = '', ...words] = [...within, 'haproxy', '-W', '-db', '-f', join(folder, 'haproxy.cfg')];
  const env = { ...process.env, ...haproxyEnvironment };
  const haproxy: ChildProcess = spawn(program, words, { detached: true, env });
  haproxy.stderr?.on('data', (text) => {
    log += text;
  });
  const ended = new Promise((resolve) => haproxy.once('exit', resolve));
  const ask = (path: string) => get({ port: metrics, path });
  const gateway: Gateway = {
    ports: { http, websocket, metrics },
    pid: haproxy.pid,
    fleet: async () => JSON.parse((await ask('/fleet')).text) as Fleet,
    metrics: async () => (await ask('/metrics')).text,
    drain: (host, reason) => writeFile(join(drained, host), `${reason}\n`),
    undrain: (host) => rm(join(drained, host)),
    async reload(other) {
      const hash = await write(other);
      haproxy.kill('SIGUSR2');
      await until(async () => (await gateway.fleet()).configuration === hash, `HAProxy reloads: ${log}`);
    },
    async kill() {
      // The master and its workers.
      if (haproxy.exitCode === null && haproxy.pid) process.kill(-haproxy.pid, 'SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
    log: () => log,
  };
  try {
    await until(
      async () => haproxy.exitCode !== null || (await gateway.fleet()).judged,
      () => `HAProxy starts: ${log}`,
    );
    if (haproxy.exitCode !== null) throw new Error(`HAProxy ended: ${log}`);
  } catch (error) {
    await gateway.kill();
    throw error;
  }
  return gateway;
}

/**
 * Waits until something holds.
 *
 * @throws Error after `seconds`
 */
export async function until(
  holds: () => Promise<boolean>,
  what: string | (() => string),
  seconds = 10,
): Promise<number> {
  const started = performance.now();
  while (!(await holds().catch(() => false))) {
    if (performance.now() - started > seconds * 1000)
      throw new Error(`not within ${seconds} s: ${typeof what === 'string' ? what : what()}`);
    await sleep(20);
  }
  return (performance.now() - started) / 1000;
}

interface Request {
  readonly port: number;
  readonly path?: string;
  /** Default: POST with a body, and GET without one. */
  readonly method?: string;
  /** Sent as JSON by POST; text as it is. */
  readonly body?: unknown;
  /** Sends text in chunks of so many bytes, without its length in front. */
  readonly chunk?: number;
  /** Address of the server. */
  readonly address?: string;
  /** Address of the client. */
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The certificate to trust: by TLS then. */
  readonly trusts?: string;
  /** Default: a connection of the request's own. On a kept one, the end of a host closes it. */
  readonly agent?: Agent | false;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export function get({
  port,
  path = '/',
  method,
  body,
  chunk,
  from = '127.0.0.1',
  headers = {},
  trusts,
  agent = false,
  address = '127.0.0.1',
}: Request): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const common = {
      host: address,
      port,
      path,
      localAddress: from,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      agent,
    };
    const sent = trusts ? tlsRequest({ ...common, ca: trusts, servername: 'rpc.example' }) : request(common);
    const switched = (response: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, text: '', headers: response.headers });
    };
    sent.on('error', reject).on('upgrade', switched).on('connect', switched);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (part) => {
        text += part;
      });
      response
        .on('error', reject)
        .on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    });
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    if (!chunk || text === undefined) return void sent.end(text);
    for (let at = 0; at < text.length; at += chunk) sent.write(text.slice(at, at + chunk));
    sent.end();
  });
}
