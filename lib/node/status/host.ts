import { type Connection, ConnectionLost, connect } from '../../engine/host/connection.ts';
import type { Reader } from '../../engine/host/host.ts';
import { createReader } from '../../engine/host/reader.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import type { Fleet } from '../gateway/fleet.ts';
import type { Layer1Choice } from '../layer1/answer.ts';
import { renderHost } from '../render/render.ts';
import type { RenderContext } from '../render/render-context.ts';
import { isWithoutNode } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { readArrays } from './arrays.ts';
import { readBackups } from './backup.ts';
import { judgeCertificate } from './certificate.ts';
import { readFirewall } from './firewall.ts';
import { readForwarding } from './forwarding.ts';
import { readGateway } from './gateway.ts';
import { type Expected, type Finding, judge, type Limits, type SyncStatus, syncStatus } from './judge.ts';
import { readLayer1Status } from './layer1.ts';
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
  /**
   * What a gateway says about the RPC hosts; undefined for other hosts, and where it says nothing.
   */
  readonly fleet?: Fleet | undefined;
  /**
   * Of a Database+Sync server with several providers of layer 1; undefined for other hosts, and
   * where nothing is said.
   */
  readonly layer1?: Layer1Choice | undefined;
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
  /**
   * Never throws: an error is part of the status. Undefined on Ctrl-C, which says nothing about
   * the host.
   */
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
 * @throws Problem, Problems if its files cannot be rendered: then the wanted containers are
 * unknown
 */
export async function watchedHost(
  context: RenderContext & { readonly host: Host },
  options: WatchOptions,
): Promise<WatchedHost> {
  const { host, vars } = context;
  const { services } = await renderHost(context);
  const expected: Expected = { services, diskWarnPercent: vars.disk_alert.warn_percent };
  const common = { host: host.name, groups: host.groups, generation: vars.generation, expected };
  const connection = keptConnection(host, options);
  return {
    name: host.name,
    close: connection.drop,
    async look() {
      const started = performance.now();
      const taken = () => ({ at: Date.now(), seconds: (performance.now() - started) / 1000 });
      try {
        let isConnected = false;
        const ask = (reader: Reader) => {
          isConnected = true;
          return lookAt(reader, host, expected, options.limits);
        };
        const late = () =>
          isConnected ? 'connected, and not all that is asked there is answered' : 'no answer';
        const seen = await within((signal) => connection.read(signal, ask), late, options);
        const health = seen.findings.some(({ fault }) => fault) ? 'unhealthy' : 'healthy';
        return { ...common, ...taken(), health, error: undefined, ...nothing, ...seen };
      } catch (error) {
        connection.drop().catch(() => {});
        if (options.interrupt.aborted) return undefined;
        return { ...common, ...taken(), ...nothing, health: 'unreachable', error };
      }
    },
  };
}

type Host = InventoryHost<Variables>;

/** A connection that is made when it is needed, and again after an error. */
function keptConnection({ name, connection }: Host, { becomePassword }: WatchOptions) {
  const target = becomePassword ? { ...connection, becomePassword } : connection;
  let kept: Connection | undefined;
  const drop = async (which = kept) => {
    if (kept === which) kept = undefined;
    await which?.close();
  };
  const read = async <T>(signal: AbortSignal, ask: (reader: Reader) => Promise<T>): Promise<T> => {
    const reused = kept;
    const used = reused ?? (await connect(name, target, { signal }));
    if (signal.aborted) {
      await drop(used);
      signal.throwIfAborted();
    }
    kept = used;
    try {
      return await ask(createReader(used, name));
    } catch (error) {
      await drop(used);
      // The host may be back since the last check.
      if (reused && error instanceof ConnectionLost && !signal.aborted) return read(signal, ask);
      throw error;
    }
  };
  return { read, drop: () => drop() };
}

async function lookAt(reader: Reader, host: Host, expected: Expected, limits: Limits) {
  const [seen, ofArrays, ofRules] = await Promise.all([
    lookAtNode(reader, host, expected, limits),
    readArrays(reader),
    readFirewall(reader),
  ]);
  const findings = [...seen.findings, ...ofArrays, ...ofRules].toSorted(
    (a, b) => Number(b.fault) - Number(a.fault),
  );
  return { ...seen, findings };
}

async function lookAtNode(reader: Reader, host: Host, expected: Expected, limits: Limits) {
  const { groups, vars } = host;
  if (groups.includes('backup')) return { findings: await readBackups(reader) };
  const gateway = groups.includes('gateway') ? await readGateway(reader, vars) : undefined;
  if (gateway && isWithoutNode(host)) return gateway;
  const [state, replica, layer1, ofCertificate, ofForwarding] = await Promise.all([
    readHost(reader, host),
    groups.includes('replica') ? readReplica(reader, vars) : undefined,
    groups.includes('database') ? readLayer1Status(reader, vars) : undefined,
    judgeCertificate(reader, host),
    readForwarding(reader),
  ]);
  const ofReplica = replica ? judgeReplica(replica) : [];
  const ofLayer1 = layer1?.findings ?? [];
  const judged = judge(state, expected, limits);
  const ofNode = [...ofReplica, ...ofCertificate, ...ofForwarding, ...judged, ...ofLayer1];
  const findings = [...(gateway?.findings ?? []), ...ofNode];
  const more = {
    ...(replica && { replica }),
    ...(layer1 && { layer1: layer1.layer1 }),
    ...syncStatus(state.chain, limits),
  };
  return { fleet: gateway?.fleet, state, findings, ...more };
}

/** Of a host whose containers and blocks are not known. */
const nothing = { state: undefined, findings: [], standing: 'unknown', behind: undefined } as const;

/**
 * Ends at the time limit and on Ctrl-C, even if the work goes on.
 *
 * @param late what the time limit has cut off, in words
 */
async function within<T>(
  work: (signal: AbortSignal) => Promise<T>,
  late: () => string,
  { timeout, interrupt }: WatchOptions,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onInterrupt = () => {};
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${late()} within ${timeout} s`)), timeout * 1000);
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
