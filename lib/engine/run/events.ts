import type { Progress } from '../host/host.ts';
import type { Difference } from '../resource/resource.ts';

/** Where in a run something happened. */
export interface Step {
  readonly host: string;
  readonly play: string;
  readonly role: string;
  readonly resource: string;
}

/**
 * How a resource ended.
 * - `ok` as it should be; `changed` it was not, and now is
 * - `pending` check mode: would be changed; `unknown` check mode: cannot be told before something else is there
 * - `warning` an expectation that should hold does not; `failed` anything else
 */
export type Outcome = 'ok' | 'changed' | 'pending' | 'unknown' | 'warning' | 'failed';

/** What became of one host. */
export interface HostSummary {
  readonly host: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly seconds: number;
  readonly unreachable: boolean;
  /** Why it stopped before its end, where it did. */
  readonly stopped: string | undefined;
  /** Where it stopped: how many tasks are not done, and the title of the first of them. */
  readonly left?: number;
  readonly next?: string;
  /** Exec requests sent to it. */
  readonly roundTrips: number;
}

/** All that a run tells, in order. Output of every form is made from these alone. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly playbook: string;
      readonly inventory: string;
      readonly check: boolean;
      readonly hosts: readonly string[];
      /** Hosts of which the operator says that they are stopped, where there are any. */
      readonly assumedStopped?: readonly string[];
    }
  | { readonly type: 'host-connected'; readonly host: string; readonly seconds: number }
  | { readonly type: 'host-unreachable'; readonly host: string; readonly error: unknown }
  /** Its tasks are known and were looked at for the first time. */
  | { readonly type: 'host-looked'; readonly host: string; readonly tasks: number }
  | {
      readonly type: 'host-stopped';
      readonly host: string;
      readonly play: string;
      readonly why: string;
      /** How many of its tasks are not done, and the title of the first of them. */
      readonly left?: number;
      readonly next?: string;
    }
  | { readonly type: 'play-started'; readonly play: string; readonly hosts: readonly string[] }
  | { readonly type: 'play-skipped'; readonly play: string; readonly why: string }
  /** Interrupted: what is under way is finished, nothing new is begun. */
  | { readonly type: 'stopping' }
  | { readonly type: 'resource-started'; readonly step: Step }
  | { readonly type: 'progress'; readonly step: Step; readonly progress: Progress }
  | {
      readonly type: 'resource-done';
      readonly step: Step;
      readonly outcome: Outcome;
      readonly differences: readonly Difference[];
      /** Why it changed, is unknown or only warned of, in words. */
      readonly note: string | undefined;
      readonly error: unknown;
      readonly seconds: number;
      /** Check mode: what would be run on the host for it. Secrets are blanked. */
      readonly commands: readonly string[];
    }
  /** Ended by an error that is no host's: bad input that showed late, a plan that no longer holds. No summary follows. */
  | { readonly type: 'run-failed'; readonly error: unknown }
  | {
      readonly type: 'run-finished';
      readonly hosts: readonly HostSummary[];
      readonly seconds: number;
      readonly interrupted: boolean;
    };

export type Listener = (event: RunEvent) => void;
