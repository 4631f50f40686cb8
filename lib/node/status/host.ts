import { type Connection, ConnectionLost, connect } from '../../engine/host/connection.ts';
import { createReader } from '../../engine/host/reader.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { type RenderContext, renderHost } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';
import { judge, standingOf } from './judge.ts';
import { lookAt } from './look.ts';
import type { Expected, Finding, Limits, RunState, Seen } from './status.ts';

export type Health = 'healthy' | 'unhealthy' | 'unreachable';

/** How a host is. */
export interface HostStatus {
  readonly host: string;
  readonly groups: readonly string[];
  readonly health: Health;
  /** By the controller's clock, milliseconds since 1970. */
  readonly at: number;
  /** How long looking took. */
  readonly seconds: number;
  /** Why there is nothing to see. */
  readonly error: unknown;
  readonly seen: Seen | undefined;
  readonly standing: RunState;
  /** Blocks that the trusted sequencer has and the host has not. */
  readonly behind: number | undefined;
  /** Faults first. */
  readonly findings: readonly Finding[];
  /** What the inventory says of it. */
  readonly generation: Variables['generation'];
  readonly expected: Expected;
}

/** A host that is looked at again and again over one connection. */
export interface WatchedHost {
  readonly name: string;
  /** Never throws: what is in the way is in the answer. Undefined where Ctrl-C cut it short, which says nothing of the host. */
  look(): Promise<HostStatus | undefined>;
  close(): Promise<void>;
}

export interface WatchOptions {
  readonly limits: Limits;
  /** How long connecting and looking may take together. Seconds. */
  readonly timeout: number;
  /** Asked of the operator; outranks the inventory's. */
  readonly becomePassword: Secret | undefined;
  readonly interrupt: AbortSignal;
}

/**
 * A host to look at; nothing is asked of it yet.
 *
 * @throws Problem, Problems where its files cannot be rendered, and so nobody knows what should run there
 */
export async function watchedHost(
  context: RenderContext & { readonly host: InventoryHost<Variables> },
  options: WatchOptions,
): Promise<WatchedHost> {
  const { host, vars } = context;
  const { services } = await renderHost(context);
  const expected: Expected = { services, diskWarnPercent: vars.disk_alert.warn_percent };
  const common = { host: host.name, groups: host.groups, generation: vars.generation, expected };
  const reach = options.becomePassword
    ? { ...host.connection, becomePassword: options.becomePassword }
    : host.connection;
  let kept: Connection | undefined;

  const drop = async (connection = kept) => {
    if (kept === connection) kept = undefined;
    await connection?.close();
  };
  const see = async (signal: AbortSignal): Promise<Seen> => {
    const reused = kept;
    const connection = reused ?? (await connect(host.name, reach, { signal }));
    if (signal.aborted) {
      await drop(connection);
      signal.throwIfAborted();
    }
    kept = connection;
    try {
      return await lookAt(createReader(connection, host.name), host);
    } catch (error) {
      await drop(connection);
      // The host may have come back since the last look.
      if (reused && error instanceof ConnectionLost && !signal.aborted) return see(signal);
      throw error;
    }
  };

  return {
    name: host.name,
    close: () => drop(),
    async look() {
      const started = performance.now();
      const taken = () => ({ at: Date.now(), seconds: (performance.now() - started) / 1000 });
      try {
        const seen = await within(see, options);
        const findings = judge(seen, expected, options.limits);
        const health = findings.some(({ fault }) => fault) ? 'unhealthy' : 'healthy';
        return {
          ...common,
          ...taken(),
          health,
          error: undefined,
          seen,
          findings,
          ...standingOf(seen.chain, options.limits),
        };
      } catch (error) {
        drop().catch(() => {});
        if (options.interrupt.aborted) return undefined;
        const nothing = { seen: undefined, findings: [], standing: 'unknown', behind: undefined } as const;
        return { ...common, ...taken(), ...nothing, health: 'unreachable', error };
      }
    },
  };
}

/** Ends at the time limit and on Ctrl-C, whatever the work itself does. */
async function within<T>(work: (signal: AbortSignal) => Promise<T>, { timeout, interrupt }: WatchOptions): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onInterrupt = () => {};
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeout} s`)), timeout * 1000);
    onInterrupt = () => reject(new Error('interrupted'));
    if (interrupt.aborted) onInterrupt();
    interrupt.addEventListener('abort', onInterrupt);
  });
  try {
    return await Promise.race([work(controller.signal), ended]);
  } finally {
    clearTimeout(timer);
    interrupt.removeEventListener('abort', onInterrupt);
    controller.abort();
  }
}
