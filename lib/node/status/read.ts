import { leastOffset } from '../../engine/host/facts/gather-facts.ts';
import type { ContainerState, Reader } from '../../engine/host/host.ts';
import type { Output } from '../../engine/host/output.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { type Answer, type Block, executesCall } from '../chain/chain.ts';
import { noSynchronizerOn } from '../chain/synchronizers.ts';
import { otherCollations } from '../databases/collation.ts';
import { poolDatabase, stateDatabase } from '../databases/databases.ts';
import { temporaryLoginsOn } from '../databases/temporary-login.ts';
import { trackingVerdict } from '../server/chrony.ts';
import { type MissingData, missingData } from '../server/data-disks.ts';
import { diskAlertFault } from '../server/disk-alert.ts';
import { timesyncd, timesyncdIsEnough } from '../server/timesyncd.ts';
import { watchedFolders } from '../variables/data-folders.ts';
import { type ServiceName, serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import {
  type ChainSource,
  type Comparison,
  compare,
  jsonRpcChain,
  newestBlock,
  stateChain,
} from './chain.ts';
import { type DiskUse, readDisks } from './disks.ts';
import { type LogState, logState, readLog, recentSeconds } from './log.ts';

/** The data of one host. Times are seconds since 1970. */
export interface HostState {
  /** The time by its own clock. */
  readonly at: number;
  /** systemd's state of docker.service: `active` if it runs; `not installed`; `engineIsSilent`. */
  readonly docker: string;
  readonly containers: Readonly<Record<ServiceName, ServiceState | undefined>>;
  /** The synchronizers that do not belong on the host, in words; undefined without one. */
  readonly otherSynchronizer: string | undefined;
  readonly chain: ChainState;
  /**
   * Of a Database+Sync server that is an RPC server, too: the newest block that json-rpc serves.
   */
  readonly served?: Answer<Block>;
  /** Of an RPC server: whether json-rpc executes a call. */
  readonly executes?: Answer<undefined>;
  /** The databases of state-db that do not sort text as their indexes do, in sentences. */
  readonly otherCollations: readonly string[];
  /** The second logins that a rotation of passwords has not removed yet; undefined: none is known. */
  readonly secondLogins?: readonly string[];
  /** Of sync or json-rpc. undefined if it neither runs nor restarts. */
  readonly log: LogState | undefined;
  /** Why the other containers that restart ended the last time, in their own words. */
  readonly ended?: Readonly<Partial<Record<ServiceName, string | undefined>>>;
  readonly disks: readonly DiskUse[];
  /** Why the disk alert did not work the last time; undefined where it did. */
  readonly diskAlertFault?: string;
  /** Data that is not on the disk that held it. */
  readonly missing: readonly MissingData[];
  readonly clock: ClockState;
}

/** In place of systemd's state: docker.service is active, and its engine does not answer. */
export const engineIsSilent = 'no answer';

/** The blocks of a host beside those of the trusted sequencer. */
interface ChainState {
  /** Where its blocks are from. */
  readonly from: 'state-db' | 'json-rpc';
  /** The component that brings them there. */
  readonly by: ServiceName;
  readonly own: Answer<Block>;
  readonly trusted: Answer<Block>;
  /** undefined where one of the two is not known. */
  readonly comparison: Answer<Comparison> | undefined;
}

/** The container of a service. */
export interface ServiceState {
  readonly image: string;
  readonly imageId: string;
  /** As Docker has it: `running`, `exited`, `restarting`, … */
  readonly status: string;
  /** Of its own health check; undefined without one. */
  readonly health: string | undefined;
  readonly exitCode: number;
  /** How often Docker has restarted the container since it was made. */
  readonly restarts: number;
  /** Since when it is in its state; undefined where Docker does not say it. */
  readonly since: number | undefined;
  /** When the container was made; its restarts count from then. */
  readonly made: number | undefined;
  /** The label of its configuration. */
  readonly configHash: string | undefined;
}

interface ClockState {
  /**
   * The host's clock less the controller's, in seconds; 0 where the round trip explains the
   * difference.
   */
  readonly offController: number;
  /** The offset from its time server, in seconds; undefined where it is not known. */
  readonly offServer: number | undefined;
  /** Its time server, or the program that follows one. */
  readonly server: string | undefined;
  /** Why it counts as not synchronised. */
  readonly fault: string | undefined;
}

/**
 * Reads the state of a host in two or three requests. The first asks what needs no container, and
 * json-rpc: each question to one that hangs takes its whole time limit. The second asks Docker,
 * only if its engine runs: a question would start a stopped engine. The third compares hashes at a
 * common height, where the newest block is from the state database. Logs of containers that Docker
 * restarted are one more.
 */
export async function readHost(
  host: Reader,
  { groups, vars }: Pick<InventoryHost<Variables>, 'groups' | 'vars'>,
): Promise<HostState> {
  const { hasState, from, by, there, served, here } = chainsOf(host, { groups, vars });
  const [trusted, early, newestServed, executes, docker, { at, clock }, disks, alertFault, missing] =
    await Promise.all([
      newestBlock(there),
      hasState ? undefined : newestBlock(here),
      served && newestBlock(served),
      groups.includes('rpc') ? executesCall(host, rpcAddress(vars), callTries) : undefined,
      readDocker(host),
      readClock(host, vars),
      readDisks(host, watchedFolders(groups, vars)),
      diskAlertFault(host),
      missingData(host),
    ]);
  const engineRuns = docker === 'active';
  const readBlocks = async () =>
    compared(early ?? (engineRuns ? await newestBlock(here) : withoutAnswer(docker)), here, trusted, there);
  const [ofEngine, blocks, collations, secondLogins] = await Promise.all([
    engineRuns ? readEngine(host, by, at) : withoutEngine,
    readBlocks(),
    hasState && engineRuns ? otherCollations(host, vars) : [],
    engineRuns ? secondLoginsOn(host, hasState, vars) : [],
  ]);
  return {
    at,
    docker,
    ...ofEngine,
    chain: { from, by, ...blocks },
    ...(newestServed && { served: newestServed }),
    ...(executes && { executes }),
    otherCollations: collations,
    ...(secondLogins.length > 0 && { secondLogins }),
    disks,
    ...(alertFault !== undefined && { diskAlertFault: alertFault }),
    missing,
    clock,
  };
}

const rpcAddress = ({ ports }: Variables) => `http://localhost:${ports.rpc_http}`;

/** A prover that is busy may refuse a call. */
const callTries = 3;

/** The chains that a host is asked for. */
interface ChainsOfHost {
  /** Whether the host has a state database. */
  readonly hasState: boolean;
  /** What shows the newest block of the host. */
  readonly from: HostState['chain']['from'];
  /** What follows the chain there. */
  readonly by: ServiceName;
  readonly here: ChainSource;
  /** The trusted sequencer. */
  readonly there: ChainSource;
  /** The chain that json-rpc serves on a Database+Sync server that is an RPC server, too. */
  readonly served: ChainSource | undefined;
}

function chainsOf(
  host: Reader,
  { groups, vars }: Pick<InventoryHost<Variables>, 'groups' | 'vars'>,
): ChainsOfHost {
  const isDatabase = groups.includes('database');
  const hasState = isDatabase || groups.includes('replica');
  const from = hasState ? 'state-db' : 'json-rpc';
  const ofNode = jsonRpcChain(host, rpcAddress(vars));
  return {
    hasState,
    from,
    by: isDatabase ? 'sync' : from,
    here: hasState ? stateChain(host, stateDatabase(vars)) : ofNode,
    there: jsonRpcChain(host, vars.network.trusted_sequencer_url),
    served: isDatabase && groups.includes('rpc') ? ofNode : undefined,
  };
}

/** The second logins in the pool database, and in the state database if the host has one. */
async function secondLoginsOn(host: Reader, hasState: boolean, vars: Variables): Promise<readonly string[]> {
  const databases = [poolDatabase(vars), ...(hasState ? [stateDatabase(vars)] : [])];
  return (await Promise.all(databases.map((each) => temporaryLoginsOn(host, each)))).flat();
}

type OfEngine = Pick<HostState, 'containers' | 'otherSynchronizer' | 'log' | 'ended'>;

/** What is asked of an engine that runs. */
async function readEngine(host: Reader, component: ServiceName, at: number): Promise<OfEngine> {
  const [states, synchronizers, lines] = await Promise.all([
    Promise.all(serviceNames.map((name) => host.container(name))),
    noSynchronizerOn(host, component === 'sync'),
    component === 'state-db' ? undefined : readLog(host, component),
  ]);
  const containers = containersOf((_, at) => states[at] && serviceState(states[at]));
  const { status, since } = containers[component] ?? {};
  // Of others a log says why they end, while they do: a log may be long.
  const isRestarting = ({ status, restarts, since = at }: ServiceState) =>
    restarts > 0 && (status === 'restarting' || at - since < recentSeconds);
  const restarting = serviceNames.filter((name) => {
    const service = containers[name];
    return (name !== component || lines === undefined) && service && isRestarting(service);
  });
  const ended = restarting.map(async (name) => [name, logState(await readLog(host, name), 0).ended] as const);
  return {
    containers,
    otherSynchronizer: synchronizers.is === 'drift' ? synchronizers.note : undefined,
    log: lines && (status === 'running' || status === 'restarting') ? logState(lines, since ?? 0) : undefined,
    ended: Object.fromEntries(await Promise.all(ended)),
  };
}

function containersOf(
  state: (name: ServiceName, at: number) => ServiceState | undefined,
): HostState['containers'] {
  return Object.fromEntries(
    serviceNames.map((name, at) => [name, state(name, at)]),
  ) as HostState['containers'];
}

const withoutEngine: OfEngine = {
  containers: containersOf(() => undefined),
  otherSynchronizer: undefined,
  log: undefined,
};

const withoutAnswer = (docker: string) =>
  ({
    ok: false,
    error: `the Docker engine does not ${docker === engineIsSilent ? 'answer' : 'run'}`,
  }) as const;

/** `HostState.docker`. A stopped engine is not asked, because that would start it. */
async function readDocker(host: Reader): Promise<string> {
  // Three of the questions ask the engine, one after the other at worst, and status gives a host twenty seconds.
  const ask = host.$({ timeoutSeconds: 4 })`
    systemctl is-active --quiet docker.service && docker version --format '{{.Server.Version}}'`;
  const [unit, asked] = await Promise.all([host.unit('docker.service'), ask]);
  if (unit.load === 'not-found') return 'not installed';
  return unit.active === 'active' && asked.timedOut ? engineIsSilent : unit.active;
}

async function compared(own: Answer<Block>, here: ChainSource, trusted: Answer<Block>, there: ChainSource) {
  const comparison = own.ok && trusted.ok ? await compare(own.value, here, trusted.value, there) : undefined;
  return { own, trusted, comparison };
}

function serviceState(container: ContainerState): ServiceState {
  const { image, imageId, status, health, exitCode, restartCount, labels, startedAt } = container;
  const { State, Created } = (container.raw ?? {}) as { State?: { FinishedAt?: string }; Created?: string };
  // Docker does not report since when a container is paused.
  const ended = status === 'paused' ? undefined : State?.FinishedAt;
  const change = status === 'running' ? startedAt : ended;
  // Docker writes the year 1 for never.
  const times = { since: secondsOf(change), made: secondsOf(Created) };
  const configHash = labels[configHashLabel];
  return { image, imageId, status, health, exitCode, restarts: restartCount, ...times, configHash };
}

/**
 * @returns seconds since 1970; undefined for a time that is missing or before 1970
 */
function secondsOf(time: string | undefined): number | undefined {
  const at = Date.parse(time ?? '') / 1000;
  return at > 0 ? at : undefined;
}

async function readClock(
  host: Reader,
  vars: Variables,
): Promise<{ readonly at: number; readonly clock: ClockState }> {
  const asked = Date.now();
  const [time, tracking, byTimesyncd] = await Promise.all([
    host.$`date +%s.%N`.then((output) => ({ text: output.text(), answered: Date.now() })),
    host.$({ timeoutSeconds: 10 })`chronyc -c -n tracking`,
    timesyncdIsEnough(host, vars),
  ]);
  const offController = leastOffset(time.text, asked / 1000, time.answered / 1000);
  const followed = { offController, offServer: undefined, server: timesyncd, fault: undefined };
  const at = Number.parseFloat(time.text);
  return { at, clock: byTimesyncd ? followed : clockState(offController, tracking, at) };
}

/**
 * Judges a clock that chrony sets.
 *
 * @param offController as in the result
 * @param tracking the output of `chronyc -c -n tracking`
 * @param at the host's time, in seconds since 1970
 */
function clockState(offController: number, tracking: Output, at: number): ClockState {
  const text = tracking.ok ? tracking.text() : '';
  const [, server, , , offset] = text.split(',');
  const offServer = server ? Number(offset) : Number.NaN;
  const verdict = trackingVerdict(text, at);
  const drift = verdict.is === 'drift' ? (verdict.note ?? 'the clock is not synchronised') : undefined;
  const missing = tracking.exitCode === 127 ? 'chrony is not installed' : 'chronyd does not answer';
  return {
    offController,
    offServer: Number.isFinite(offServer) ? offServer : undefined,
    server: server || undefined,
    fault: tracking.ok ? drift : missing,
  };
}
