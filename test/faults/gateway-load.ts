import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of gateways on this machine: each asks at its own times, whatever others wait for. */
export interface Load {
  readonly requests: number;
  /** Requests that are on their way now. */
  readonly pending: number;
  /** Requests without an answer of JSON-RPC: when, in ms as `performance.now()`, and why. */
  readonly failed: readonly { readonly at: number; readonly why: string }[];
  /** Clients that were shown a height below an earlier one. */
  readonly lower: readonly string[];
  /** When each request was due, and how long its answer took from then on. Milliseconds. */
  readonly times: readonly { readonly at: number; readonly took: number }[];
  /** Answers that came from a provider: when. */
  readonly byProvider: readonly number[];
  end(): Promise<void>;
}

interface Plan {
  /** Requests a second, of all clients together. */
  readonly rate: number;
  /** Addresses of clients. Several clients may have one. */
  readonly clients: readonly string[];
  /**
   * Of gateways. A client begins with one, and takes the next one where that does not accept its
   * connection, as for a name with several addresses.
   */
  readonly ports: readonly number[];
  /** Of a client, by its place. */
  readonly headers?: (client: number) => Readonly<Record<string, string>>;
}

class Counted {
  requests = 0;
  pending = 0;
  running = true;
  readonly failed: { at: number; why: string }[] = [];
  readonly lower: string[] = [];
  readonly times: { at: number; took: number }[] = [];
  readonly byProvider: number[] = [];
}

export function startLoad(plan: Plan): Load {
  const counted = new Counted();
  const every = (plan.clients.length * 1000) / plan.rate;
  const started = performance.now();
  const work = plan.clients.map((_, client) =>
    runClient(plan, client, started + (client * 1000) / plan.rate, every, counted),
  );
  return Object.assign(counted, {
    async end() {
      counted.running = false;
      await Promise.all(work);
    },
  });
}

async function runClient(plan: Plan, client: number, first: number, every: number, counted: Counted) {
  const agent = new Agent({ keepAlive: true });
  let gateway = client;
  let highest = 0;
  const one = async (due: number, id: number) => {
    counted.pending += 1;
    try {
      const { height, isProvider } = await ask({ plan, client, gateway, agent, id }).catch((error) => {
        if (error.code !== 'ECONNREFUSED') throw error;
        gateway += 1;
        return ask({ plan, client, gateway, agent, id });
      });
      if (isProvider) counted.byProvider.push(performance.now());
      return height;
    } catch (error) {
      counted.failed.push({
        at: performance.now(),
        why: error instanceof Error ? error.message : String(error),
      });
      return 0;
    } finally {
      counted.pending -= 1;
      counted.times.push({ at: due, took: performance.now() - due });
    }
  };
  const open = new Set<Promise<void>>();
  for (let due = first; counted.running; due += every) {
    await sleep(Math.max(0, due - performance.now()));
    if (!counted.running) break;
    // Answers may overtake each other: this is what the client had seen when it asked.
    const seen = highest;
    counted.requests += 1;
    const sent = one(due, counted.requests).then((height) => {
      if (height > 0 && height < seen) counted.lower.push(`${client}: ${seen}, then ${height}`);
      highest = Math.max(highest, height);
      open.delete(sent);
    });
    open.add(sent);
  }
  await Promise.all(open);
  agent.destroy();
}

interface Question {
  readonly plan: Plan;
  readonly client: number;
  readonly gateway: number;
  readonly agent: Agent;
  readonly id: number;
}

function ask({
  plan,
  client,
  gateway,
  agent,
  id,
}: Question): Promise<{ height: number; isProvider: boolean }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...plan.headers?.(client) };
    const from = plan.clients[client] ?? '127.0.0.1';
    const port = plan.ports[gateway % plan.ports.length];
    const options = { port, agent, headers, host: '127.0.0.1', localAddress: from, method: 'POST' };
    const sent = request({ ...options, timeout: 30_000 }, (response) => {
      let text = '';
      response.on('data', (part) => {
        text += part;
      });
      response.on('error', reject).on('end', () => {
        const height = response.statusCode === 200 ? Number(JSON.parse(text).result) : Number.NaN;
        if (height > 0) resolve({ height, isProvider: response.headers['x-fallback'] !== undefined });
        else reject(new Error(`HTTP ${response.statusCode}: ${text.trim()}`));
      });
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer in 30 s')));
    sent.end(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_blockNumber', params: [] }));
  });
}

/** The time below which a share of the answers was, of those that were due within a time. */
export function quantile(
  load: Pick<Load, 'times'>,
  share: number,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): string {
  const value = timeOf(load, share, from, to);
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

/** Milliseconds. */
function timeOf({ times }: Pick<Load, 'times'>, share: number, from: number, to: number): number {
  const list = times.filter(({ at }) => at >= from && at < to).map(({ took }) => took);
  return list.sort((one, other) => one - other)[Math.floor(list.length * share)] ?? Number.NaN;
}

/**
 * Waits until the machine carries a load: programs have just begun, and others may run beside
 * them. Half of the answers of the last two seconds take 200 ms or less then.
 *
 * @throws Error after a minute: what is measured would be the machine
 */
export async function carried(load: Load): Promise<void> {
  const end = performance.now() + 60_000;
  const isCarried = () => timeOf(load, 0.5, performance.now() - 2000, performance.now()) <= 200;
  do {
    await sleep(2000);
    if (isCarried()) return;
  } while (performance.now() < end);
  const said = quantile(load, 0.5, end - 10_000);
  throw new Error(`this machine does not carry the load: half of the answers take more than ${said} at rest`);
}

/** How many requests failed, and how many of them by each reason. */
export function failures({ failed }: Load): string {
  const counts = new Map<string, number>();
  for (const { why } of failed) counts.set(why, (counts.get(why) ?? 0) + 1);
  const reasons = [...counts].map(([why, count]) => `${count} by ${why}`);
  return [`${failed.length} failed`, ...(reasons.length === 0 ? [] : [`(${reasons.join(', ')})`])].join(' ');
}
