import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Layer1Choice, ProviderState } from '../../../lib/node/layer1/answer.ts';
import { layer1Chroot } from '../../../lib/node/layer1/paths.ts';
import { layer1Files } from '../../../lib/node/layer1/render.ts';

/** A real HAProxy with the files for layer 1, as this user and outside of any chroot. */
export interface Choice {
  /** Where the node asks. */
  readonly url: string;
  state(): Promise<Layer1Choice>;
  /** What it says about the provider at a place of the list, from 0 on. */
  of(place: number): Promise<ProviderState>;
  /** The place of the used provider; -1 without one. */
  used(): Promise<number>;
  /** A request of the node. */
  ask(method: string, params?: readonly unknown[]): Promise<Asked>;
  log(): string;
  /** As a power failure. */
  kill(): Promise<void>;
}

interface Asked {
  readonly status: number;
  readonly body: { readonly result?: unknown; readonly error?: { code: number; message: string } };
}

const port = 28_547;

/**
 * @param urls of the providers
 * @param edit of the script and the configuration, such as for shorter times
 */
export async function startChoice(
  urls: readonly string[],
  edit: (text: string) => string = (text) => text,
): Promise<Choice> {
  const folder = await mkdtemp(join(tmpdir(), 'layer1-'));
  const network = { l1_rpc_urls: [...urls], chain_id: 5 } as never;
  const { main, others } = layer1Files({ network, ports: { layer1: port } as never });
  for (const { path, content } of [main, ...others]) {
    const text = typeof content === 'string' ? content : content.text;
    const own = text
      .replace(/^ +(chroot|user|group) .*\n/gm, '')
      .replaceAll(`unix@${layer1Chroot}/`, `unix@${folder}/`)
      .replaceAll('unix@/', `unix@${folder}/`)
      .replaceAll(`unix@${folder}${folder}/`, `unix@${folder}/`)
      .replaceAll(' mode 600 user haproxy', '');
    await writeFile(join(folder, basename(path)), edit(own));
  }
  let log = '';
  const haproxy = spawn('haproxy', ['-W', '-db', '-f', join(folder, 'haproxy.cfg')], { detached: true });
  haproxy.stdout.on('data', (text) => {
    log += text;
  });
  haproxy.stderr.on('data', (text) => {
    log += text;
  });
  const ended = new Promise((resolve) => haproxy.once('exit', resolve));
  const choice: Choice = {
    url: `http://127.0.0.1:${port}`,
    state: async () => JSON.parse((await send('GET', '/providers')).text) as Layer1Choice,
    of: async (place) => {
      const found = (await choice.state()).providers[place];
      if (!found) throw new Error(`there is no provider ${place}`);
      return found;
    },
    used: async () => (await choice.state()).providers.findIndex(({ used }) => used),
    ask: async (method, params = []) => {
      const { status, text } = await send('POST', '/', { jsonrpc: '2.0', id: 1, method, params });
      return { status, body: JSON.parse(text) };
    },
    log: () => log,
    async kill() {
      if (haproxy.exitCode === null && haproxy.pid) process.kill(-haproxy.pid, 'SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await until(async () => haproxy.exitCode !== null || (await choice.state()).judged, 'HAProxy starts');
    if (haproxy.exitCode !== null) throw new Error('HAProxy ended');
  } catch (error) {
    await choice.kill();
    throw new Error(`${(error as Error).message}: ${log}`);
  }
  return choice;
}

/**
 * Waits until something holds.
 *
 * @returns the time that it took. Seconds
 * @throws Error after `seconds`
 */
export async function until(holds: () => Promise<boolean>, what: string, seconds = 20): Promise<number> {
  const started = performance.now();
  while (!(await holds().catch(() => false))) {
    if (performance.now() - started > seconds * 1000) throw new Error(`not within ${seconds} s: ${what}`);
    await sleep(20);
  }
  return (performance.now() - started) / 1000;
}

function send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path }, (response) => {
      let text = '';
      response.on('data', (part) => {
        text += part;
      });
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}
