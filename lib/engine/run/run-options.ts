import type { ConfirmEach } from './converge.ts';
import type { HostSummary, Step } from './events.ts';
import type { LockHolder } from './lock/lock-holder.ts';
import type { HostPlan } from './plan.ts';

export interface RunOptions {
  /** Look and tell, change nothing. */
  readonly check: boolean;
  /** Hosts worked on at once. */
  readonly forks: number;
  /** Names of the hosts to work on; a role still sees all hosts of the inventory. */
  readonly hosts: ReadonlySet<string>;
  /** Whether a role is to be run. */
  selects(role: string): boolean;
  /** Title of the resource to begin at; all before it is left out. */
  readonly startAt?: string | undefined;
  /** Aborted on the first Ctrl-C: running changes are finished, no new ones begun. */
  readonly interrupt: AbortSignal;
  /** Asked before the first change, where anything would change, with what would be done on each host. Default: yes. */
  readonly confirm?: ((plans: readonly HostPlan[]) => Promise<boolean>) | undefined;
  /** Asked before each change. Default: yes. */
  readonly confirmEach?: ConfirmEach | undefined;
  /** Given a plan that is followed: told what would be done now, it throws where that is not what was planned. */
  readonly refuseStale?: ((plans: readonly HostPlan[]) => void) | undefined;
  /** Keeps other runs out while anything is changed: who this run is, and whether it takes locks away from others. */
  readonly lock?: { readonly holder: LockHolder; readonly breaks: boolean } | undefined;
  /** Hosts that may stay unreachable when all hosts have to be looked at: the operator says that they are stopped. Default: none. */
  readonly assumedStopped?: ReadonlySet<string> | undefined;
  /** Whether a task may be changed. Default: yes. */
  readonly allows?: ((step: Step) => boolean) | undefined;
}

export interface RunResult {
  readonly hosts: readonly HostSummary[];
  readonly interrupted: boolean;
  /** What would be done, in check mode and where it was not confirmed. */
  readonly plans: readonly HostPlan[];
  /** Whether the operator said no, to the plan or to a change. */
  readonly declined: boolean;
}
