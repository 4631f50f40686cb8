import type { Progress } from '../host/host.ts';
import type { Difference } from '../resource/resource.ts';

/** A task: a resource of a host in a play. Its steps are the commands and files of its change. */
export interface Task {
  readonly host: string;
  readonly play: string;
  readonly role: string;
  readonly resource: string;
}

/**
 * The outcome of a resource.
 * - `ok`: nothing to do; `changed`: it was changed and checked again
 * - `pending`: check mode, it would be changed; `unknown`: check mode, it depends on an earlier change
 * - `warning`: an expectation that should hold does not; `failed`: anything else
 * - `skipped`: the operator left it out, or it depends on a task that was left out
 */
export type Outcome = 'ok' | 'changed' | 'pending' | 'unknown' | 'warning' | 'failed' | 'skipped';

/** The number of tasks of each outcome; of skipped ones only where there is one. */
export type Counts = Record<Exclude<Outcome, 'skipped'>, number> & { skipped?: number };

/** The result of one host. */
export interface HostSummary {
  readonly host: string;
  readonly counts: Readonly<Counts>;
  readonly seconds: number;
  readonly unreachable: boolean;
  /** Why it stopped before its end. */
  readonly stopped: string | undefined;
  /** Where it stopped: the number of tasks that are not done, and the title of the first. */
  readonly left?: number;
  readonly next?: string;
  /** Exec requests sent to it. */
  readonly roundTrips: number;
}

/** The events of a run, in order. All output is made from these alone. */
export type RunEvent =
  | {
      readonly type: 'run-started';
      readonly playbook: string;
      readonly inventory: string;
      readonly check: boolean;
      readonly hosts: readonly string[];
      /** Hosts that the operator declares to be stopped. */
      readonly assumedStopped?: readonly string[];
    }
  | { readonly type: 'host-connected'; readonly host: string; readonly seconds: number }
  | { readonly type: 'host-unreachable'; readonly host: string; readonly error: unknown }
  /** Its tasks are known and were checked for the first time. */
  | { readonly type: 'host-looked'; readonly host: string; readonly tasks: number }
  | {
      readonly type: 'host-stopped';
      readonly host: string;
      readonly play: string;
      readonly why: string;
      /** The number of tasks that are not done, and the title of the first. */
      readonly left?: number;
      readonly next?: string;
    }
  /** Another run has the lock of a host, and this run waits for it. Again for another holder. */
  | {
      readonly type: 'lock-awaited';
      readonly host: string;
      /** Who has it, what it runs on which inventory, and since when. */
      readonly holder: string;
      /** This run waits for that many seconds in all. */
      readonly most: number;
    }
  /** The wait is over: all locks are had. */
  | { readonly type: 'locks-taken'; readonly seconds: number }
  | { readonly type: 'play-started'; readonly play: string; readonly hosts: readonly string[] }
  | { readonly type: 'play-skipped'; readonly play: string; readonly why: string }
  /** Interrupted: running changes are finished, no new ones start. */
  | { readonly type: 'stopping' }
  | { readonly type: 'resource-started'; readonly task: Task }
  | { readonly type: 'progress'; readonly task: Task; readonly progress: Progress }
  | {
      readonly type: 'resource-done';
      readonly task: Task;
      readonly outcome: Outcome;
      readonly differences: readonly Difference[];
      /** Why it changed, is unknown or is only a warning. */
      readonly note: string | undefined;
      readonly error: unknown;
      readonly seconds: number;
      /** Check mode: the commands that it would run, secrets redacted. */
      readonly commands: readonly string[];
    }
  /**
   * Ended by an error that is not a host's: bad input that showed late, a stale plan. No summary
   * follows.
   */
  | { readonly type: 'run-failed'; readonly error: unknown }
  | {
      readonly type: 'run-finished';
      readonly hosts: readonly HostSummary[];
      readonly seconds: number;
      readonly interrupted: boolean;
      /** The operator declined the plan, or ended the run. */
      readonly declined?: boolean;
    };

export type Listener = (event: RunEvent) => void;
