import type { ServiceName } from '../variables/services.ts';
import type { ChainSeen, ContainerSeen, Expected, Finding, Head, Limits, RunState, Seen } from './status.ts';

/** A container that Docker started so often, and that has run for no longer, is in a loop. Seconds. */
const loop = { restarts: 3, seconds: 60 };

/** The controller's clock may be the wrong one: a difference to it is told, and no fault. Seconds. */
const controllerDiffers = 2;

/**
 * What stands out on a host, faults first. Nothing of it is a fault that the trusted sequencer alone is to blame for, but that it
 * does not answer: then nobody knows how good the host's blocks are.
 */
export function judge(seen: Seen, expected: Expected, limits: Limits): Finding[] {
  const findings = [
    ...judgeContainers(seen, expected),
    ...judgeChain(seen, limits),
    ...judgeDisks(seen, expected),
    ...judgeClock(seen),
  ];
  return [...findings.filter(({ fault }) => fault), ...findings.filter(({ fault }) => !fault)];
}

/** How the host's chain stands to the trusted sequencer's, and how many blocks it lacks; fewer than none when it has more. */
export function standingOf(
  { own, trusted, comparison }: ChainSeen,
  { mostBehind }: Limits,
): { readonly standing: RunState; readonly behind: number | undefined } {
  if (!own.ok || !trusted.ok) return { standing: 'unknown', behind: undefined };
  const behind = trusted.value.block.number - own.value.block.number;
  if (comparison?.ok && comparison.value.here !== comparison.value.there) return { standing: 'diverged', behind };
  if (!comparison?.ok) return { standing: 'unknown', behind };
  if (behind > mostBehind) return { standing: 'behind', behind };
  return { standing: behind < -mostBehind ? 'ahead' : 'caught-up', behind };
}

function judgeContainers({ docker, containers, at }: Seen, { services }: Expected): Finding[] {
  if (docker !== 'active') return [{ is: 'docker-down', about: 'docker', fault: true, state: docker }];
  return (Object.keys(containers) as ServiceName[]).flatMap((about): Finding[] => {
    const [seen, wanted] = [containers[about], services[about]];
    if (!wanted) return seen?.status === 'running' ? [{ is: 'out-of-place', about, fault: true }] : [];
    if (!seen) return [{ is: 'missing', about, fault: true }];
    const findings = stateOf(about, seen, at);
    if (seen.image !== wanted.image) {
      findings.push({ is: 'wrong-image', about, fault: true, running: seen.image, wanted: wanted.image });
    } else if (seen.configHash !== wanted.configHash) {
      findings.push({ is: 'other-configuration', about, fault: false });
    }
    return findings;
  });
}

function stateOf(about: ServiceName, seen: ContainerSeen, at: number): Finding[] {
  const { status, health, exitCode, restarts, since } = seen;
  const forSeconds = since === undefined ? undefined : Math.max(0, at - since);
  if (status === 'restarting') return [{ is: 'restarting', about, fault: true, restarts, forSeconds }];
  if (status !== 'running') return [{ is: 'stopped', about, fault: true, status, exitCode, forSeconds }];
  if (health === 'unhealthy') return [{ is: 'unhealthy', about, fault: true }];
  // Between two starts of a loop Docker says running, too.
  const isLoop = restarts >= loop.restarts && forSeconds !== undefined && forSeconds < loop.seconds;
  if (isLoop) return [{ is: 'restarting', about, fault: true, restarts, forSeconds }];
  return restarts > 0 ? [{ is: 'restarted', about, fault: false, restarts, forSeconds }] : [];
}

function judgeChain({ chain, at, log, docker, containers }: Seen, limits: Limits): Finding[] {
  const about = chain.from === 'state-db' ? 'sync' : 'json-rpc';
  const findings: Finding[] = [];
  if (log?.halted !== undefined) findings.push({ is: 'halted', about: 'sync', fault: true, words: log.halted });
  if (!chain.trusted.ok) {
    findings.push({ is: 'no-answer', about: 'trusted sequencer', fault: true, error: chain.trusted.error });
  } else {
    const { number, time } = chain.trusted.value.block;
    const stillFor = at - time;
    if (stillFor > limits.staleAfter) {
      findings.push({ is: 'still', about: 'trusted sequencer', fault: false, block: number, stillFor });
    }
  }
  if (chain.own.ok) {
    findings.push(...judgeBlocks(about, chain, chain.own.value, at, limits, log?.lastError));
  } else if (docker === 'active' && containers[chain.from]?.status === 'running') {
    // Where it does not run, that has been said.
    findings.push({ is: 'no-answer', about: chain.from, fault: true, error: chain.own.error });
  }
  return findings;
}

function judgeBlocks(
  about: 'sync' | 'json-rpc',
  chain: ChainSeen,
  own: Head,
  at: number,
  limits: Limits,
  words: string | undefined,
): Finding[] {
  const { comparison } = chain;
  const block = own.block.number;
  const { standing, behind } = standingOf(chain, limits);
  if (standing === 'diverged' && comparison?.ok) {
    const { height, here, there } = comparison.value;
    return [{ is: 'diverged', about, fault: true, height, here, there }];
  }
  const findings: Finding[] = [];
  if (comparison && !comparison.ok) {
    findings.push({ is: 'not-compared', about, fault: false, error: comparison.error });
  }
  const still = stillFor(chain, own, at, behind);
  const tooLong = still !== undefined && still > limits.staleAfter ? still : undefined;
  if (behind !== undefined && behind > limits.mostBehind) {
    const of = block + behind;
    findings.push({ is: 'behind', about, fault: true, behind, block, of, stillFor: tooLong, words });
  } else if (tooLong !== undefined) {
    findings.push({ is: 'stale', about, fault: true, block, stillFor: tooLong, words });
  }
  if (standing === 'ahead' && behind !== undefined) findings.push({ is: 'ahead', about, fault: false, ahead: -behind });
  return findings;
}

/**
 * How long the host has gone without the next block. Where the trusted sequencer has one, from when that was made, or from when
 * the last one was written: a host that catches up is not still. Where the sequencer cannot be asked, since the newest block; where
 * it has no more than the host, that is not the host's fault.
 */
function stillFor(chain: ChainSeen, own: Head, at: number, behind: number | undefined): number | undefined {
  if (behind === undefined) return at - (own.written ?? own.block.time);
  if (behind <= 0) return undefined;
  const missingSince = chain.comparison?.ok ? chain.comparison.value.missingSince : undefined;
  if (missingSince === undefined) return own.written === undefined ? undefined : at - own.written;
  return at - Math.max(missingSince, own.written ?? missingSince);
}

function judgeDisks({ disks }: Seen, { diskWarnPercent: warnPercent }: Expected): Finding[] {
  return disks
    .filter(({ usedPercent }) => usedPercent >= warnPercent)
    .map(({ mount, usedPercent }) => ({ is: 'full', about: 'disk', fault: true, mount, usedPercent, warnPercent }));
}

function judgeClock({ clock }: Seen): Finding[] {
  if (clock.fault !== undefined) return [{ is: 'not-synchronised', about: 'clock', fault: true, words: clock.fault }];
  if (Math.abs(clock.offController) <= controllerDiffers) return [];
  return [{ is: 'off-controller', about: 'clock', fault: false, seconds: clock.offController }];
}
