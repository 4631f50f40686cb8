import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { $ } from 'zx';
import { parseJson } from '../../lib/engine/text/parse-json.ts';
import { proofOf } from '../../lib/node/testing/web-socket-server.ts';

/** The address that one of the gateways of inventory/lab-fleet.yaml has. */
const target = '172.30.77.20';
const ports = { http: 8123, websocket: 8133, metrics: 9101 };
const fleetAddress = `http://127.0.0.1:${ports.metrics}/fleet`;
const containerOf = (gateway: string) => (gateway.endsWith('.22') ? 'rpc-lab-gw-2' : 'rpc-lab-gw-1');
const quiet = $({ quiet: true, nothrow: true } as object);

/** What clients have seen so far. */
export interface Seen {
  requests: number;
  /** Answers that are none: with the time, and why. */
  readonly failed: string[];
  /** Clients that were shown a height below an earlier one. */
  readonly lower: string[];
  /** When each request was due, and how long its answer took from then on. Milliseconds. */
  readonly times: { readonly at: number; readonly took: number }[];
  /** By WebSocket: how often it had to connect again. */
  readonly reconnects: number[];
  /** The fewest RPC hosts that served at any time, by the gateways. */
  fewest: number;
  /** The most that a run or an operator had taken out at a time. */
  mostDrained: number;
  /** Why RPC hosts were out at some time, with the seconds since the start. */
  readonly out: Map<string, number>;
}

/**
 * Addresses of their own for clients: a gateway knows a client by its address. They are on the
 * bridge of the lab's network.
 */
export async function clientAddresses(
  count: number,
): Promise<{ addresses: string[]; remove(): Promise<void> }> {
  const bridge = (await quiet`ip -o addr show to 172.30.77.1`).stdout.split(/\s+/)[1];
  const addresses = Array.from(
    { length: count },
    (_, at) => `10.77.${Math.floor(at / 250)}.${(at % 250) + 1}`,
  );
  await quiet({
    input: addresses.map((each) => `addr add ${each}/32 dev ${bridge}\n`).join(''),
  } as object)`ip -batch -`;
  return {
    addresses,
    remove: async () => {
      const lines = addresses.map((each) => `addr del ${each}/32 dev ${bridge}\n`).join('');
      await quiet({ input: lines } as object)`ip -force -batch -`;
    },
  };
}

/**
 * @param rate requests a second of all clients together.
 * @param addresses of clients, one each
 */
export function startLoad({
  addresses,
  rate,
  webSockets,
  gateways = ['172.30.77.21', '172.30.77.22'],
}: {
  addresses: readonly string[];
  rate: number;
  webSockets: number;
  gateways?: readonly string[];
}): { readonly seen: Seen; end(): Promise<Seen> } {
  const started = performance.now();
  const seen: Seen = {
    requests: 0,
    failed: [],
    lower: [],
    times: [],
    reconnects: Array.from({ length: webSockets }, () => 0),
    fewest: 99,
    mostDrained: 0,
    out: new Map(),
  };
  const state = { running: true, seconds: () => (performance.now() - started) / 1000 };
  const work = [
    ...addresses.map((from, at) =>
      httpClient(from, (at * 1000) / rate, (addresses.length * 1000) / rate, seen, state),
    ),
    ...seen.reconnects.map((_, at) =>
      webSocketClient(addresses[at % addresses.length] ?? '', at, seen, state),
    ),
    ...gateways.map((gateway) => watch(gateway, seen, state)),
  ];
  return {
    seen,
    end: async () => {
      state.running = false;
      await Promise.all(work);
      return seen;
    },
  };
}

interface State {
  running: boolean;
  seconds(): number;
}

async function httpClient(
  from: string,
  start: number,
  every: number,
  seen: Seen,
  state: State,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let highest = 0;
  await sleep(start);
  for (let next = performance.now(); state.running; next += every) {
    const id = seen.requests;
    seen.requests += 1;
    try {
      const answer = await ask(from, agent, id);
      const height = Number(answer.result);
      seen.times.push({ at: next, took: performance.now() - next });
      if (answer.id !== id || !(height > 0)) throw new Error(JSON.stringify(answer));
      if (height < highest) seen.lower.push(`${from}: ${highest}, then ${height}`);
      highest = Math.max(highest, height);
    } catch (error) {
      seen.failed.push(`${state.seconds().toFixed(1)} s: ${error instanceof Error ? error.message : error}`);
    }
    await sleep(Math.max(0, next + every - performance.now()));
  }
  agent.destroy();
}

function ask(localAddress: string, agent: Agent, id: number): Promise<{ id: number; result: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const options = {
      host: target,
      port: ports.http,
      localAddress,
      agent,
      method: 'POST',
      timeout: 30_000,
      headers,
    };
    const sent = request(options, (response) => {
      let text = '';
      response.on('data', (part) => {
        text += part;
      });
      response.on('error', reject).on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}: ${text.trim()}`));
        else resolve(JSON.parse(text));
      });
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer in 30 s')));
    sent.end(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_blockNumber', params: [] }));
  });
}

/**
 * Asks by one WebSocket every second, and connects again when it ends. An upgrade that is refused
 * counts as a failed request.
 */
async function webSocketClient(from: string, at: number, seen: Seen, state: State): Promise<void> {
  for (let first = true; state.running; first = false) {
    if (!first) seen.reconnects[at] = (seen.reconnects[at] ?? 0) + 1;
    await webSocket(from, state).catch((error) => {
      seen.failed.push(`${state.seconds().toFixed(1)} s: WebSocket: ${error.message}`);
    });
  }
}

/**
 * @throws Error where it is not opened, or an answer is none
 */
async function webSocket(localAddress: string, state: State): Promise<void> {
  const socket = connect({ host: target, port: ports.websocket, localAddress });
  let text = '';
  let closed = false;
  socket
    .on('error', () => {})
    .on('close', () => {
      closed = true;
    });
  socket.on('data', (part) => {
    text += part.toString('latin1');
  });
  const answered = async (pattern: RegExp, seconds: number) => {
    for (let left = seconds * 20; !pattern.test(text) && !closed && left > 0; left -= 1) await sleep(50);
    const found = pattern.test(text);
    if (found) text = '';
    return found;
  };
  const head = ['GET / HTTP/1.1', `host: ${target}`, 'connection: upgrade', 'upgrade: websocket'];
  const key = randomBytes(16).toString('base64');
  socket.write(`${[...head, 'sec-websocket-version: 13', `sec-websocket-key: ${key}`].join('\r\n')}\r\n\r\n`);
  const proof = proofOf(key).replaceAll('+', '\\+');
  if (!(await answered(new RegExp(`^HTTP/1\\.1 101 [^]*\r\nsec-websocket-accept: *${proof}\r\n`, 'i'), 40))) {
    socket.destroy();
    throw new Error(`not opened: ${text.slice(0, 200)}`);
  }
  while (!closed && state.running) {
    socket.write(frame(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })));
    if (!(await answered(/"result":"0x[0-9a-f]+"/, 30)) && !closed)
      throw new Error(`no answer: ${text.slice(0, 200)}`);
    for (let left = 20; left > 0 && !closed && state.running; left -= 1) await sleep(50);
  }
  socket.destroy();
}

/** A masked text frame of a client, of fewer than 126 bytes. */
function frame(text: string): Buffer {
  const mask = randomBytes(4);
  const bytes = Buffer.from(text).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return Buffer.concat([Buffer.from([0x81, 0x80 | bytes.length]), mask, bytes]);
}

/**
 * Notes who serves, every 200 ms, by what a gateway says of itself. One command there asks all the
 * time: a command for each question would take much of a processor.
 */
async function watch(gateway: string, seen: Seen, state: State): Promise<void> {
  const asking = `while read -r -t 0.2; [ $? -gt 128 ]; do curl -s -m 3 ${fleetAddress}; echo; done`;
  while (state.running) {
    const child = spawn('docker', ['exec', '-i', containerOf(gateway), 'bash', '-c', asking], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.on('error', () => {});
    // A gateway that hangs prints nothing.
    const stopping = setInterval(() => state.running || child.kill(), 1000);
    for await (const line of createInterface({ input: child.stdout })) {
      if (!state.running) break;
      const fleet = parseJson(line) as Fleet | undefined;
      if (fleet) note(gateway, fleet, seen, state);
    }
    clearInterval(stopping);
    child.stdin.end();
    // The gateway may be away for a time.
    if (state.running) await sleep(200);
  }
}

function note(gateway: string, { hosts }: Fleet, seen: Seen, state: State): void {
  seen.fewest = Math.min(seen.fewest, hosts.filter(({ serves }) => serves).length);
  seen.mostDrained = Math.max(seen.mostDrained, hosts.filter(({ drained }) => drained).length);
  for (const { host, serves, reason } of hosts) {
    const why = `${gateway}: ${host}: ${reason}`;
    if (!serves && !seen.out.has(why)) seen.out.set(why, Math.round(state.seconds()));
  }
}

interface Fleet {
  readonly hosts: readonly { host: string; serves: boolean; drained: string | null; reason: string | null }[];
}

/**
 * What a gateway of the lab says, asked from outside: `firewall.metrics` or an address of the
 * inventory.
 */
export async function fleetOf(gateway: string): Promise<Fleet> {
  const { stdout } = await quiet`docker exec ${containerOf(gateway)} curl -s -m 3 ${fleetAddress}`;
  return JSON.parse(stdout) as Fleet;
}
