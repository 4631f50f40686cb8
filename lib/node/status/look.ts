import { leastOffset } from '../../engine/host/facts/gather-facts.ts';
import type { ContainerState, Reader } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { stateDatabase } from '../databases/databases.ts';
import { trackingVerdict } from '../server/chrony.ts';
import { serviceNames } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { type ChainSource, compare, jsonRpcChain, stateChain } from './chain.ts';
import { readDisks } from './disks.ts';
import { logSeen, readLog } from './log.ts';
import type { ChainSeen, ClockSeen, ContainerSeen, Head, Seen } from './status.ts';

/**
 * Looks at a host in two trips, or three: what can be asked at once, then Docker where its engine runs, for asking a stopped one
 * would start it; and where the blocks of both chains are known only then, their hashes at a common height.
 */
export async function lookAt(
  host: Reader,
  { groups, vars }: Pick<InventoryHost<Variables>, 'groups' | 'vars'>,
): Promise<Seen> {
  const isDatabase = groups.includes('database');
  const there = jsonRpcChain(host, vars.network.trusted_sequencer_url);
  const here = isDatabase
    ? stateChain(host, stateDatabase(vars))
    : jsonRpcChain(host, `http://localhost:${vars.ports.rpc_http}`);

  const [trusted, early, docker, clock, disks] = await Promise.all([
    there.head(),
    isDatabase ? undefined : here.head(),
    host.unit('docker.service'),
    readClock(host),
    readDisks(host, ['/', vars.paths.data]),
  ]);
  const engineRuns = docker.active === 'active';
  const [containers, lines, chain] = await Promise.all([
    Promise.all(serviceNames.map((name) => (engineRuns ? host.container(name) : undefined))),
    isDatabase && engineRuns ? readLog(host, 'sync') : undefined,
    readChain(here, early ?? (engineRuns ? here.head() : stopped), there, trusted),
  ]);
  const seen = Object.fromEntries(serviceNames.map((name, at) => [name, containerSeen(containers[at])]));
  const sync = (seen as Seen['containers']).sync;
  return {
    at: clock.at,
    docker: docker.load === 'not-found' ? 'not installed' : docker.active,
    containers: seen as Seen['containers'],
    chain: { from: isDatabase ? 'state-db' : 'json-rpc', ...chain },
    log: lines && sync?.status === 'running' ? logSeen(lines, sync.since ?? 0) : undefined,
    disks,
    clock: clock.seen,
  };
}

const stopped = { ok: false, error: 'the Docker engine does not run' } as const;

async function readChain(
  here: ChainSource,
  head: ChainSeen['own'] | Promise<ChainSeen['own']>,
  there: ChainSource,
  trusted: ChainSeen['trusted'],
): Promise<Omit<ChainSeen, 'from'>> {
  const own = await head;
  const both = own.ok && trusted.ok;
  return { own, trusted, comparison: both ? await compare(own.value as Head, here, trusted.value, there) : undefined };
}

function containerSeen(state: ContainerState | undefined): ContainerSeen | undefined {
  if (!state) return undefined;
  const since = Date.parse(sinceOf(state) ?? '') / 1000;
  return {
    image: state.image,
    status: state.status,
    health: state.health,
    exitCode: state.exitCode,
    restarts: state.restartCount,
    // Docker writes the year 1 for never.
    since: since > 0 ? since : undefined,
    configHash: state.labels[configHashLabel],
  };
}

/** Docker does not tell since when a container is paused. */
function sinceOf({ status, startedAt, raw }: ContainerState): string | undefined {
  if (status === 'running') return startedAt;
  const { FinishedAt } = ((raw ?? {}) as { State?: { FinishedAt?: string } }).State ?? {};
  return status === 'paused' ? undefined : FinishedAt;
}

async function readClock(host: Reader): Promise<{ readonly at: number; readonly seen: ClockSeen }> {
  const asked = Date.now();
  const [clock, tracking] = await Promise.all([
    host.$`date +%s.%N`.then((output) => ({ text: output.text(), answered: Date.now() })),
    host.$({ timeoutSeconds: 10 })`chronyc -c -n tracking`,
  ]);
  const offController = leastOffset(clock.text, asked / 1000, clock.answered / 1000);
  return { at: Number.parseFloat(clock.text), seen: clockSeen(offController, tracking) };
}

/** @param tracking what `chronyc -c -n tracking` printed, and how it ended */
export function clockSeen(
  offController: number,
  tracking: { readonly ok: boolean; readonly exitCode: number; text(): string },
): ClockSeen {
  const none = { offController, offServer: undefined, server: undefined };
  if (tracking.exitCode === 127) return { ...none, fault: 'chrony is not installed' };
  if (!tracking.ok) return { ...none, fault: 'chronyd does not answer' };
  const [, server, , , offset] = tracking.text().split(',');
  const verdict = trackingVerdict(tracking.text());
  const offServer = Number(offset);
  return {
    offController,
    offServer: server && Number.isFinite(offServer) ? offServer : undefined,
    server: server || undefined,
    fault: verdict.is === 'drift' ? (verdict.note ?? 'the clock is not synchronised') : undefined,
  };
}
