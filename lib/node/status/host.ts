import { type Connection, ConnectionLost, connect } from '../../engine/host/connection.ts';
import type { Reader } from '../../engine/host/host.ts';
import { createReader } from '../../engine/host/reader.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import type { Fleet } from '../gateway/fleet.ts';
import { renderHost } from '../render/render.ts';
import type { RenderContext } from '../render/render-context.ts';
import { isWithoutNode } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { readBackups } from './backup.ts';
import { readFirewall } from './firewall.ts';
import { readGateway } from './gateway.ts';
import { type Expected, type Finding, judge, type Limits, type SyncStatus, syncStatus } from './judge.ts';
import { type HostState, readHost } from './read.ts';
import { judgeReplica, type ReplicaState, readReplica } from './replica.ts';

export type Health = 'healthy' | 'unhealthy' | 'unreachable';

/** The status of a host. */
export interface HostStatus {
  readonly host: string;
  readonly groups: readonly string[];
  readonly health: Health;
  /** By the controller's clock, milliseconds since 1970. */
  readonly at: number;
  /** Duration of the check. */
  readonly seconds: number;
  /** Why the host is unreachable. */
  readonly error: unknown;
  /** undefined if the host is unreachable. */
  readonly state: HostState | undefined;
  readonly standing: SyncStatus;
  /** Blocks of the trusted sequencer that the host lacks. */
  readonly behind: number | undefined;
  /** What a gateway says about the RPC hosts; undefined for other hosts, and where it says nothing. */
  readonly fleet?: Fleet | undefined;
  /** How a replica follows the database server; undefined for other hosts. */
  readonly replica?: ReplicaState | undefined;
  /** Faults first. */
  readonly findings: readonly Finding[];
  readonly generation: Variables['generation'];
  readonly expected: Expected;
}

/** A host that is checked repeatedly over one connection. */
export interface WatchedHost {
  readonly name: string;
  close(): Promise<void>;
  /** Never throws: an error is part of the status. Undefined on Ctrl-C, which says nothing about the host. */
  look(): Promise<HostStatus | undefined>;
}

interface WatchOptions {
  readonly limits: Limits;
  /** Time limit for connecting and reading together. Seconds. */
  readonly timeout: number;
  /** Typed by the operator; it overrides the inventory's. */
  readonly becomePassword: Secret | undefined;
  readonly interrupt: AbortSignal;
}

/**
 * A host to watch. It is not connected to yet.
 *
 * @throws Problem, Problems if its files cannot be rendered: then the wanted containers are unknown
 */
export async function watchedHost(
  context: RenderContext & { readonly host: InventoryHost<Variables> },
  options: WatchOptions,
): Promise<WatchedHost> {
  const { host, vars } = context;
  const { services } = await renderHost(context);
  const expected: Expected = { services, diskWarnPercent: vars.disk_alert.warn_percent };
  const common = { host: host.name, groups: host.groups, generation: vars.generation, expected };
  const { becomePassword } = options;
  const target = becomePassword ? { ...host.connection, becomePassword } : host.connection;
  let kept: Connection | undefined;

  const drop = async (connection = kept) => {
    if (kept === connection) kept = undefined;
    await connection?.close();
  };
  const read = async <T>(signal: AbortSignal, ask: (reader: Reader) => Promise<T>): Promise<T> => {
    const reused = kept;
    const connection = reused ?? (await connect(host.name, target, { signal }));
    if (signal.aborted) {
      await drop(connection);
      signal.throwIfAborted();
    }
    kept = connection;
    try {
      return await ask(createReader(connection, host.name));
    } catch (error) {
      await drop(connection);
      // The host may be back since the last check.
      if (reused && error instanceof ConnectionLost && !signal.aborted) return read(signal, ask);
      throw error;
    }
  };

  const lookAtNode = async (reader: Reader) => {
    if (host.groups.includes('backup')) return { findings: await readBackups(reader) };
    const gateway = host.groups.includes('gateway') ? await readGateway(reader, vars) : undefined;
    if (gateway && isWithoutNode(host)) return gateway;
    const [state, replica] = await Promise.all([
      readHost(reader, host),
      host.groups.includes('replica') ? readReplica(reader, vars) : undefined,
    ]);
    const ofReplica = replica ? judgeReplica(replica) : [];
    const findings = [...(gateway?.findings ?? []), ...ofReplica, ...judge(state, expected, options.limits)];
    const more = { ...(replica && { replica }), ...syncStatus(state.chain, options.limits) };
    return { fleet: gateway?.fleet, state, findings, ...more };
  };
  const look = async (reader: Reader) => {
    const [seen, ofRules] = await Promise.all([lookAtNode(reader), readFirewall(reader)]);
    const findings = [...seen.findings, ...ofRules].toSorted((a, b) => Number(b.fault) - Number(a.fault));
    return { ...seen, findings };
  };

  return {
    name: host.name,
    close: () => drop(),
    async look() {
      const started = performance.now();
      const taken = () => ({ at: Date.now(), seconds: (performance.now() - started) / 1000 });
      try {
        const seen = await within((signal) => read(signal, look), options);
        const health = seen.findings.some(({ fault }) => fault) ? 'unhealthy' : 'healthy';
        return { ...common, ...taken(), health, error: undefined, ...nothing, ...seen };
      } catch (error) {
        drop().catch(() => {});
        if (options.interrupt.aborted) return undefined;
        return { ...common, ...taken(), ...nothing, health: 'unreachable', error };
      }
    },
  };
}

/** Of a host whose containers and blocks are not known. */
const nothing = { state: undefined, findings: [], standing: 'unknown', behind: undefined } as const;

/** Ends at the time limit and on Ctrl-C, even if the work goes on. */
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
