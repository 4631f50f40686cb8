import type { Problem } from '../problem/problem.ts';

/** The result of a condition on all hosts of an inventory. */
export interface FleetVerdict {
  /** Why the condition is not met, or unknown on some host. The resource is not changed then. */
  readonly refused: Problem | undefined;
  /** What has to exist before the condition can be checked. */
  readonly until: string | undefined;
  /**
   * The hosts that were not checked because the operator declared them stopped, and what the
   * condition says of others.
   */
  readonly note: string | undefined;
}
