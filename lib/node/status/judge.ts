import { seconds } from '../../engine/output/units.ts';
import { keysOf } from '../../engine/text/keys.ts';
import type { Block } from '../chain/chain.ts';
import { diskAlertUnit } from '../server/disk-alert.ts';
import type { ServiceName } from '../variables/services.ts';
import { explained } from './causes.ts';
import { engineIsSilent, type HostState, type ServiceState } from './read.ts';
import { count, divergedWords, exitCodeWords, offset, serviceWords } from './words.ts';

/**
 * A container that Docker restarted this often, and that has run for no longer, is in a loop.
 * Seconds.
 */
const loop = { restarts: 3, seconds: 60 };

/**
 * A container that Docker restarted so often a day since it was made does not stay up, although it
 * runs for most of the time. It counts as repaired after an hour, or five times as long as it ran
 * between two restarts. Seconds.
 */
const often = { restartsPerDay: 6, repairedAfter: 3600, times: 5 };

const day = 86_400;

/**
 * The controller's clock may be the wrong one: a larger difference to it is reported, and is not a
 * fault. Seconds.
 */
const controllerDiffers = 2;

/** Limits above which a host is unhealthy. */
export interface Limits {
  /** Maximum time without the next block. Seconds. */
  readonly staleAfter: number;
  /** Maximum number of blocks that it may be behind. */
  readonly mostBehind: number;
}

/** A service as the inventory has it. */
interface WantedService {
  readonly image: string;
  readonly configHash: string;
  readonly earlierHashes?: readonly string[];
}

/** The inventory's requirements for a host. */
export interface Expected {
  /** undefined: the service does not belong on the host. */
  readonly services: Readonly<Record<ServiceName, WantedService | undefined>>;
  readonly diskWarnPercent: number;
}

/** One thing that an operator should know about a host (docs/status.md). */
export interface Finding {
  /** The kind, such as `stale`. */
  readonly is: string;
  /** A service, `docker`, `disk`, `disk alert`, `clock` or `trusted sequencer`. */
  readonly about: string;
  /** A host with a fault is unhealthy. */
  readonly fault: boolean;
  /** In words, after its subject: `json-rpc: 132 blocks behind (block 4,120 of 4,252)`. */
  readonly says: string;
  /** The numbers and names of this kind of finding. */
  readonly [detail: string]: string | number | boolean | undefined;
}

/** The comparison of the host's chain with the trusted sequencer's. */
export type SyncStatus = 'caught-up' | 'behind' | 'ahead' | 'diverged' | 'unknown';

/**
 * The findings about a host, faults first. A fault of the trusted sequencer is not a fault of the
 * host, except that it does not answer: then the state of the host's blocks is unknown.
 */
export function judge(state: HostState, expected: Expected, limits: Limits): Finding[] {
  const findings = [
    ...judgeSynchronizers(state),
    ...judgeMissing(state.missing),
    ...judgeContainers(state, expected),
    ...judgeChain(state, limits),
    ...judgeCalls(state),
    ...state.otherCollations.map((words) =>
      note('other-collation', 'state-db', `${words}: indexes on text may miss rows`),
    ),
    ...(state.secondLogins ?? []).map((role) =>
      note(
        'rotation',
        'passwords',
        `a rotation of passwords is half done, ${role} may log in: deploy ends it, and after rotate --done the next rotation`,
      ),
    ),
    ...judgeDisks(state, expected),
    ...judgeDiskAlert(state),
    ...judgeClock(state),
  ];
  return [...findings.filter((finding) => finding.fault), ...findings.filter((finding) => !finding.fault)];
}

/**
 * Compares the host's chain with the trusted sequencer's. `behind` is a number of blocks, negative
 * if the host has more.
 */
export function syncStatus(
  { own, trusted, comparison }: HostState['chain'],
  { mostBehind }: Limits,
): { readonly standing: SyncStatus; readonly behind: number | undefined } {
  if (!own.ok || !trusted.ok) return { standing: 'unknown', behind: undefined };
  const behind = trusted.value.block - own.value.block;
  if (!comparison?.ok) return { standing: 'unknown', behind };
  if (!comparison.value.same) return { standing: 'diverged', behind };
  if (behind > mostBehind) return { standing: 'behind', behind };
  return { standing: behind < -mostBehind ? 'ahead' : 'caught-up', behind };
}

type Details = Readonly<Record<string, string | number | undefined>>;

/** A fault, which makes its host unhealthy. */
export function fault(is: string, about: string, words: string, details: Details = {}): Finding {
  return { is, about, fault: true, ...details, says: `${about}: ${words}` };
}

/** A note about a host that does not make it unhealthy. */
export function note(is: string, about: string, words: string, details: Details = {}): Finding {
  return { ...fault(is, about, words, details), fault: false };
}

function judgeContainers(state: HostState, { services }: Expected): Finding[] {
  const { docker, containers, at, log, chain, ended: ofOthers = {} } = state;
  if (docker !== 'active') {
    const words =
      docker === engineIsSilent
        ? 'the engine runs and does not answer: see journalctl --unit docker.service'
        : `the engine does not run (${docker})`;
    return [fault('docker-down', 'docker', words, { state: docker })];
  }
  return keysOf(containers).flatMap((name): Finding[] => {
    const [service, wanted] = [containers[name], services[name]];
    if (!wanted) {
      // A synchronizer has its own finding.
      const isStray = name !== 'sync' && service?.status === 'running';
      return isStray ? [fault('out-of-place', name, 'runs here, and should not')] : [];
    }
    if (!service) return [fault('missing', name, 'there is no such container, and this host should run it')];
    const ended = (name === chain.by ? log?.ended : undefined) ?? ofOthers[name];
    const findings = judgeStatus(name, service, { at, ended, works: doesItsWork(name, service, state) });
    const images = { running: service.image, wanted: wanted.image };
    if (images.running !== images.wanted) {
      const words = `runs ${images.running}, and the inventory says ${images.wanted}`;
      findings.push(fault('wrong-image', name, words, images));
    } else if (![wanted.configHash, ...(wanted.earlierHashes ?? [])].includes(service.configHash ?? '')) {
      const words =
        "runs with a configuration that is not the inventory's: deploy.mjs --check shows what differs";
      findings.push(note('other-configuration', name, words));
    }
    return findings;
  });
}

/** Docker starts a former synchronizer again after a reboot, when nobody looks. */
function judgeSynchronizers({ otherSynchronizer }: HostState): Finding[] {
  if (otherSynchronizer === undefined) return [];
  const words = `no other synchronizer may run here: ${otherSynchronizer}; two on one database corrupt it`;
  return [fault('out-of-place', 'sync', words)];
}

/** Whether a component has done since its start what it is for, as far as its blocks show it. */
function doesItsWork(name: ServiceName, { since }: ServiceState, { chain, served }: HostState): boolean {
  const { from, own } = chain;
  if (name === 'json-rpc') return (from === 'json-rpc' ? own : served)?.ok === true;
  if (from === 'json-rpc' || !own.ok) return false;
  if (name === 'state-db') return true;
  return (
    name === 'sync' && own.value.written !== undefined && since !== undefined && own.value.written > since
  );
}

interface Seen {
  /** The time of the host. Seconds since 1970. */
  readonly at: number;
  /** Why the container ended the last time, in its own words. */
  readonly ended: string | undefined;
  /** Whether it has done its work since its last start. */
  readonly works: boolean;
}

function judgeStatus(name: ServiceName, service: ServiceState, { at, ended, works }: Seen): Finding[] {
  const { status, health, exitCode, restarts, since } = service;
  const forSeconds = since === undefined ? undefined : Math.max(0, at - since);
  const times = restarts === 1 ? 'once' : `${count(restarts)} times`;
  // Between two starts of a loop Docker also reports running.
  const isLoop = restarts >= loop.restarts && forSeconds !== undefined && forSeconds < loop.seconds && !works;
  if (status === 'restarting' || (status === 'running' && health !== 'unhealthy' && isLoop)) {
    const words = restartWords(times, service, forSeconds, ended);
    return [fault('restarting', name, words, { restarts, forSeconds, words: ended })];
  }
  if (status !== 'running')
    return [fault('stopped', name, serviceWords(service, at), { status, exitCode, forSeconds })];
  if (health === 'unhealthy')
    return [fault('unhealthy', name, 'runs, and its own health check says unhealthy')];
  if (restarts === 0) return [];
  if (restartsOften(service, at)) {
    const age = seconds(Math.max(0, at - (service.made ?? at)));
    const why = ended === undefined ? '' : `; it ended with: ${explained(ended)}`;
    const words = `does not stay up: restarted ${times} in ${age}, the last time ${seconds(forSeconds ?? 0)} ago${why}`;
    return [fault('restarting', name, words, { restarts, forSeconds, words: ended })];
  }
  const duration = forSeconds === undefined ? '' : `, and has run for ${seconds(forSeconds)}`;
  return [note('restarted', name, `was restarted ${times} by Docker${duration}`, { restarts, forSeconds })];
}

function restartsOften({ restarts, since, made }: ServiceState, at: number): boolean {
  if (since === undefined || made === undefined) return false;
  const age = at - made;
  const isRepaired = at - since > Math.max(often.repairedAfter, (often.times * age) / restarts);
  return !isRepaired && restarts / Math.max(1, age / day) >= often.restartsPerDay;
}

/**
 * A container that runs may be one between two ends, or one that has recovered just now: the next
 * minute shows it.
 */
function restartWords(
  times: string,
  { status, exitCode }: ServiceState,
  forSeconds: number | undefined,
  ended: string | undefined,
): string {
  const why = ended === undefined ? '' : `: ${explained(ended)}`;
  if (status === 'restarting')
    return `keeps restarting (${times} so far, the last time with exit code ${exitCodeWords(exitCode)})${why}`;
  const last = `the last time ${seconds(forSeconds ?? 0)} ago`;
  return `was restarted ${times}, ${last}, and may end again within a minute${why}`;
}

/** A container that does not run, and json-rpc that answers no block, have a finding already. */
function judgeCalls({ chain, served = chain.own, executes, containers }: HostState): Finding[] {
  if (!executes || executes.ok || !served.ok) return [];
  if ([containers['json-rpc'], containers.prover].some((service) => service?.status !== 'running')) return [];
  const { error } = executes;
  return [fault('no-execution', 'json-rpc', `answers blocks, and executes no calls: ${error}`, { error })];
}

function judgeChain({ chain, served, at, log, docker, containers }: HostState, limits: Limits): Finding[] {
  const { from, own, trusted } = chain;
  const findings: Finding[] = [];
  if (from === 'state-db' && log?.halted !== undefined)
    findings.push(fault('halted', 'sync', `halted: ${explained(log.halted)}`, { words: log.halted }));
  if (!trusted.ok) {
    findings.push(fault('no-answer', 'trusted sequencer', trusted.error, { error: trusted.error }));
  } else {
    const { block, made } = trusted.value;
    const stillFor = at - made;
    const words = `it has itself made no block for ${seconds(stillFor)} (the newest is ${count(block)})`;
    if (stillFor > limits.staleAfter)
      findings.push(note('still', 'trusted sequencer', words, { block, stillFor }));
  }
  if (own.ok) {
    findings.push(
      ...judgeBlocks(chain, own.value, at, limits, from === 'state-db' ? log?.lastError : undefined),
    );
  } else if (docker === 'active' && containers[from]?.status === 'running') {
    // A stopped service has a finding already.
    findings.push(fault('no-answer', from, own.error, { error: own.error }));
  }
  if (served && !served.ok && containers['json-rpc']?.status === 'running') {
    findings.push(fault('no-answer', 'json-rpc', served.error, { error: served.error }));
  }
  return findings;
}

function judgeBlocks(
  chain: HostState['chain'],
  own: Block,
  at: number,
  limits: Limits,
  words: string | undefined,
) {
  const about = chain.by;
  const { block } = own;
  const { comparison } = chain;
  const { standing, behind } = syncStatus(chain, limits);
  if (comparison?.ok && !comparison.value.same) {
    const { height, here, there } = comparison.value;
    return [fault('diverged', about, divergedWords(comparison.value), { height, here, there })];
  }
  const findings: Finding[] = [];
  if (comparison && !comparison.ok) {
    const { error } = comparison;
    const why = `block hashes could not be compared with the trusted sequencer: ${error}`;
    findings.push(note('not-compared', about, why, { error }));
  }
  const still = secondsWithoutBlock(chain, own, at, behind);
  const stillFor = still !== undefined && still > limits.staleAfter ? still : undefined;
  const lastError = words === undefined ? '' : `; its last error: ${explained(words)}`;
  if (behind !== undefined && behind > limits.mostBehind) {
    const of = block + behind;
    const and = stillFor === undefined ? '' : `, and no new one for ${seconds(stillFor)}`;
    const lag = `${blocks(behind)} behind (block ${count(block)} of ${count(of)})${and}${lastError}`;
    findings.push(fault('behind', about, lag, { behind, block, of, stillFor, words }));
  } else if (stillFor !== undefined) {
    const age = `no new block for ${seconds(stillFor)} (the newest is ${count(block)})${lastError}`;
    findings.push(fault('stale', about, age, { block, stillFor, words }));
  }
  if (standing === 'ahead' && behind !== undefined)
    findings.push(
      note('ahead', about, `${blocks(-behind)} ahead of the trusted sequencer`, { ahead: -behind }),
    );
  return findings;
}

function blocks(value: number): string {
  return `${count(value)} ${value === 1 ? 'block' : 'blocks'}`;
}

/**
 * How long the host has gone without the next block. Where the trusted sequencer has one, since
 * that was made, or since the last one was written: a host that catches up is not still. Where the
 * sequencer cannot be asked, since the newest block; where it has no more than the host, that is
 * not the host's fault.
 */
function secondsWithoutBlock(chain: HostState['chain'], own: Block, at: number, behind: number | undefined) {
  if (behind === undefined) return at - (own.written ?? own.made);
  if (behind <= 0) return undefined;
  const missingSince = chain.comparison?.ok ? chain.comparison.value.missingSince : undefined;
  if (missingSince === undefined) return own.written === undefined ? undefined : at - own.written;
  return at - Math.max(missingSince, own.written ?? missingSince);
}

/** Docker does not start then, and everything else that is wrong follows from it. */
export function judgeMissing(missing: HostState['missing']): Finding[] {
  return missing.map(({ cause, hint }) => fault('missing-data', 'disk', cause, { hint }));
}

function judgeDisks({ disks }: HostState, { diskWarnPercent: warnPercent }: Expected): Finding[] {
  return disks
    .filter(({ usedPercent }) => usedPercent >= warnPercent)
    .map(({ mount, usedPercent }) => {
      const words = `${mount} is ${usedPercent}% full (alert from ${warnPercent}%)`;
      return fault('full', 'disk', words, { mount, usedPercent, warnPercent });
    });
}

function judgeDiskAlert({ diskAlertFault: words }: HostState): Finding[] {
  if (words === undefined) return [];
  const said = `its last check of the disks failed: ${words} (journalctl -u ${diskAlertUnit})`;
  return [fault('disk-alert-failed', 'disk alert', said, { words })];
}

function judgeClock({ clock }: HostState): Finding[] {
  if (clock.fault !== undefined)
    return [fault('not-synchronised', 'clock', clock.fault, { words: clock.fault })];
  const { offController } = clock;
  if (Math.abs(offController) <= controllerDiffers) return [];
  const words = `${offset(offController)} this machine's; one of the two is wrong`;
  return [note('off-controller', 'clock', words, { seconds: offController })];
}
