import { leastOffset } from '../../engine/host/facts/gather-facts.ts';
import type { ContainerState, Reader } from '../../engine/host/host.ts';
import type { Output } from '../../engine/host/output.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { noSynchronizerOn } from '../chain/synchronizers.ts';
import { stateDatabase } from '../databases/databases.ts';
import { trackingVerdict } from '../server/chrony.ts';
import { missingData } from '../server/data-disks.ts';
import { timesyncd, timesyncdIsEnough } from '../server/timesyncd.ts';
import { type ServiceName, serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { compare, jsonRpcChain, newestBlock, stateChain } from './chain.ts';
import { readDisks } from './disks.ts';
import { logState, readLog } from './log.ts';

/** The data of one host. `at` is the time by its own clock; times are seconds since 1970. */
export type HostState = Awaited<ReturnType<typeof readHost>>;

/** The container of a service. */
export type ServiceState = ReturnType<typeof serviceState>;

/**
 * Reads the state of a host in two or three trips: first what needs no container; then Docker, where its engine runs, because a
 * question would start a stopped engine; and where the blocks of both chains are known only then, their hashes at a common height.
 */
export async function readHost(host: Reader, { groups, vars }: Pick<InventoryHost<Variables>, 'groups' | 'vars'>) {
  const isDatabase = groups.includes('database');
  const hasState = isDatabase || groups.includes('replica');
  const component = isDatabase ? 'sync' : hasState ? 'state-db' : 'json-rpc';
  const there = jsonRpcChain(host, vars.network.trusted_sequencer_url);
  const here = hasState
    ? stateChain(host, stateDatabase(vars))
    : jsonRpcChain(host, `http://localhost:${vars.ports.rpc_http}`);

  const servesToo = isDatabase && groups.includes('rpc');
  const [trusted, early, docker, { at, clock }, disks, missing] = await Promise.all([
    newestBlock(there),
    hasState ? undefined : newestBlock(here),
    host.unit('docker.service'),
    readClock(host, vars),
    readDisks(host, ['/', vars.paths.data]),
    missingData(host),
  ]);
  const engineRuns = docker.active === 'active';
  const readChain = async () => {
    const own = early ?? (engineRuns ? await newestBlock(here) : stopped);
    const both = own.ok && trusted.ok;
    return { own, trusted, comparison: both ? await compare(own.value, here, trusted.value, there) : undefined };
  };
  const [states, synchronizers, lines, chain, served] = await Promise.all([
    Promise.all(serviceNames.map((name) => (engineRuns ? host.container(name) : undefined))),
    engineRuns ? noSynchronizerOn(host, isDatabase) : undefined,
    engineRuns && component !== 'state-db' ? readLog(host, component) : undefined,
    readChain(),
    servesToo ? newestBlock(jsonRpcChain(host, `http://localhost:${vars.ports.rpc_http}`)) : undefined,
  ]);
  const entries = serviceNames.map((name, i) => [name, states[i] && serviceState(states[i])]);
  const containers: Readonly<Record<ServiceName, ServiceState | undefined>> = Object.fromEntries(entries);
  const { status, since } = containers[component] ?? {};
  return {
    at,
    /** systemd's state of docker.service: `active` if it runs. */
    docker: docker.load === 'not-found' ? 'not installed' : docker.active,
    containers,
    /** The synchronizers that do not belong on the host, in words; undefined without one. */
    otherSynchronizer: synchronizers?.is === 'drift' ? synchronizers.note : undefined,
    /** Where its blocks are from, and the component that brings them there. */
    chain: { from: hasState ? ('state-db' as const) : ('json-rpc' as const), by: component, ...chain },
    /** Of a Database+Sync server that is an RPC server, too: the newest block that json-rpc serves. */
    ...(served && { served }),
    /** Of sync or json-rpc. undefined if it neither runs nor restarts. */
    log: lines && (status === 'running' || status === 'restarting') ? logState(lines, since ?? 0) : undefined,
    disks,
    /** Data that is not on the disk that held it. */
    missing,
    clock,
  };
}

const stopped = { ok: false, error: 'the Docker engine does not run' } as const;

function serviceState({
  image,
  imageId,
  status,
  health,
  exitCode,
  restartCount,
  labels,
  startedAt,
  raw,
}: ContainerState) {
  const { FinishedAt } = ((raw ?? {}) as { State?: { FinishedAt?: string } }).State ?? {};
  // Docker does not report since when a container is paused.
  const change = status === 'running' ? startedAt : status === 'paused' ? undefined : FinishedAt;
  const since = Date.parse(change ?? '') / 1000;
  return {
    image,
    imageId,
    status,
    health,
    exitCode,
    restarts: restartCount,
    // Docker writes the year 1 for never.
    since: since > 0 ? since : undefined,
    configHash: labels[configHashLabel],
  };
}

async function readClock(host: Reader, vars: Variables) {
  const asked = Date.now();
  const [time, tracking, byTimesyncd] = await Promise.all([
    host.$`date +%s.%N`.then((output) => ({ text: output.text(), answered: Date.now() })),
    host.$({ timeoutSeconds: 10 })`chronyc -c -n tracking`,
    timesyncdIsEnough(host, vars),
  ]);
  const offController = leastOffset(time.text, asked / 1000, time.answered / 1000);
  const followed = { offController, offServer: undefined, server: timesyncd, fault: undefined };
  return { at: Number.parseFloat(time.text), clock: byTimesyncd ? followed : clockState(offController, tracking) };
}

/**
 * @param offController the host's clock less the controller's, in seconds; 0 where the round trip explains the difference
 * @param tracking the output of `chronyc -c -n tracking`
 * @returns with the offset from the time server, in seconds, and the fault of the clock
 */
function clockState(offController: number, tracking: Output) {
  const text = tracking.ok ? tracking.text() : '';
  const [, server, , , offset] = text.split(',');
  const offServer = server ? Number(offset) : Number.NaN;
  const verdict = trackingVerdict(text);
  const drift = verdict.is === 'drift' ? (verdict.note ?? 'the clock is not synchronised') : undefined;
  const missing = tracking.exitCode === 127 ? 'chrony is not installed' : 'chronyd does not answer';
  return {
    offController,
    offServer: Number.isFinite(offServer) ? offServer : undefined,
    server: server || undefined,
    fault: tracking.ok ? drift : missing,
  };
}
