import { type ExitCode, exitCode } from '../problem/problem.ts';
import type { Change, Verdict } from '../resource/resource.ts';
import type { HostSummary, Task } from './events.ts';
import type { LockHolder } from './lock/lock-holder.ts';
import type { HostPlan } from './plan.ts';
import type { OwnValues } from './playbook.ts';

/** The answer to a change: make it, leave it out and go on with the next task, or end the run. */
export type Confirmed = 'change' | 'skip' | 'quit';

/** Asks before a change. */
export type ConfirmEach = (task: Task, seen: Verdict & { is: 'drift' }) => Promise<Confirmed>;

/** How a run keeps others out. */
interface RunLock {
  readonly holder: LockHolder;
  /** Take locks from others. */
  readonly breaks: boolean;
  /** How long to wait for the locks of others. Seconds; default: not at all. */
  readonly wait?: number | undefined;
}

export interface RunOptions {
  /** Check mode: change nothing. */
  readonly check: boolean;
  /** The number of hosts in parallel. */
  readonly forks: number;
  /** The hosts of the run. A role sees all hosts of the inventory. */
  readonly hosts: ReadonlySet<string>;
  /** Whether a role is part of the run. */
  selects(role: string): boolean;
  /** The playbook's own options, for its roles. */
  readonly given?: OwnValues | undefined;
  /** The title of the first resource. Earlier ones are left out. */
  readonly startAt?: string | undefined;
  /** Aborted on the first Ctrl-C: running changes finish, no new ones start. */
  readonly interrupt: AbortSignal;
  /** Asked before the first change with the plan of each host. Default: yes. */
  readonly confirm?: ((plans: readonly HostPlan[]) => Promise<boolean>) | undefined;
  /** Asked before each change. Default: yes. */
  readonly confirmEach?: ConfirmEach | undefined;
  /** With a saved plan: called with the current plan, and throws if it differs. */
  readonly refuseStale?: ((plans: readonly HostPlan[]) => void) | undefined;
  /** Keeps other runs out during changes. Default: no lock is taken. */
  readonly lock?: RunLock | undefined;
  /**
   * Hosts that may be unreachable when every host has to be checked: the operator declares them
   * stopped. Default: none.
   */
  readonly assumedStopped?: ReadonlySet<string> | undefined;
  /** Why a change is not made, undefined where it may be made. Default: all may be made. */
  readonly refuses?: ((task: Task, change: Change | undefined) => string | undefined) | undefined;
}

export interface RunResult {
  readonly hosts: readonly HostSummary[];
  readonly interrupted: boolean;
  /** The plans, in check mode and if they were not confirmed. */
  readonly plans: readonly HostPlan[];
  /** Whether the operator declined the plan, or ended the run. */
  readonly declined: boolean;
  /** Hosts that are out of service, for a change in their turn failed. */
  readonly leftOut: readonly string[];
}

/**
 * The exit code of a run. A failure outweighs an unreachable host, and both outweigh pending
 * changes.
 */
export function exitCodeOf({
  hosts,
  interrupted,
  declined = false,
}: Pick<RunResult, 'hosts' | 'interrupted'> & Partial<Pick<RunResult, 'declined'>>): ExitCode {
  if (interrupted) return exitCode.interrupted;
  if (hosts.some((host) => host.counts.failed > 0)) return exitCode.failed;
  if (hosts.some((host) => host.unreachable)) return exitCode.unreachable;
  if (declined) return exitCode.pending;
  if (hosts.some((host) => host.stopped)) return exitCode.failed;
  const left = ({ pending, unknown, skipped = 0 }: HostSummary['counts']) => pending + unknown + skipped;
  if (hosts.some((host) => left(host.counts) > 0)) return exitCode.pending;
  return exitCode.converged;
}
