import { isDeepStrictEqual } from 'node:util';
import { exitCode, Failure, Problem } from '../problem/problem.ts';
import { Interrupted } from '../resource/job/pause.ts';
import {
  describeUnmet,
  type EveryHost,
  isWarning,
  stepsThatEnd,
  type Verdict,
} from '../resource/resource.ts';
import type { HostRun, TaskRun } from './host-run.ts';
import type { ConfirmEach, RunOptions } from './run-options.ts';
import { changesTogether, changeTogether, didNotConverge, mostTogether, travelsAlone } from './together.ts';

/** The reason of a host that stopped because the operator ended the run. */
export const quitByOperator = 'you ended the run here';

export interface ChangeOptions {
  /** Aborted when no new change may start. */
  readonly stop: AbortSignal;
  readonly confirmEach?: ConfirmEach | undefined;
  readonly refuses?: RunOptions['refuses'];
  /**
   * Makes a change while a condition holds on every host.
   *
   * @returns a note about unchecked hosts
   * @throws Problem where it does not hold
   */
  whileEveryHost(condition: EveryHost, change: () => Promise<void>): Promise<string | undefined>;
}

/**
 * Converges a host's tasks in order. The first failure ends it, because later tasks depend on
 * earlier ones. No task is judged by a check from before the last change, and none fails as
 * unknown by a check that was made for an earlier task. The request that proves a change also
 * checks the next tasks.
 *
 * @param taskRuns checked already, maybe before the host's last change
 * @param options whether to stop before the next change, and whether it may be made
 * @returns why it stopped, or undefined when all tasks are ok
 */
export async function converge(
  host: HostRun,
  taskRuns: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  for (let at = 0; at < taskRuns.length; ) {
    const taskRun = taskRuns[at];
    if (!taskRun) break;
    if (options.stop.aborted) return 'interrupted';
    // An unknown state was read beside its condition, which may be met since: it is a failure only
    // if it stays.
    const isOutdated = taskRun.seenIn !== host.state || taskRun.seen?.is === 'unknown';
    const rest = taskRuns.slice(at);
    if (isOutdated) await host.check(next(rest));
    const together = changesTogether(host, rest, (each) => fits(each, options));
    if (together) {
      const { handled, failed } = await changeTogether(host, together, next(rest), options.stop);
      if (failed) return failed;
      at += handled;
      continue;
    }
    const failed = await convergeOne(host, taskRun, rest, options);
    if (failed) return failed;
    at += 1;
  }
  return undefined;
}

/** Whether nobody has to be asked before a change, and the plan has it. */
function fits({ task, resource, seen }: TaskRun, { confirmEach, refuses }: ChangeOptions): boolean {
  if (confirmEach || resource.everyHost || seen?.is !== 'drift') return false;
  return refuses?.(task, seen.change) === undefined;
}

/**
 * @returns why the host stops here, or undefined
 */
async function convergeOne(
  host: HostRun,
  taskRun: TaskRun,
  rest: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  const { seen, task } = taskRun;
  if (!seen || seen.is === 'error') {
    host.done(task, 'failed', { error: seen?.error });
    return `${task.resource} failed`;
  }
  switch (seen.is) {
    case 'ok':
      host.done(task, 'ok', { note: seen.note });
      return undefined;
    case 'unknown':
      return convergeUnknown(host, taskRun, seen, rest, options);
    case 'drift':
      return convergeDrift(host, taskRun, seen, rest, options);
  }
}

type Unknown = Verdict & { is: 'unknown' };
type Drift = Verdict & { is: 'drift' };

/**
 * @returns why the host stops here, or undefined
 */
async function convergeUnknown(
  host: HostRun,
  taskRun: TaskRun,
  seen: Unknown,
  rest: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  const { task, resource } = taskRun;
  // It may depend on a skipped task, so nobody knows whether it should have become known.
  if (host.hasSkipped) {
    host.done(task, 'skipped', { note: `unknown until ${seen.until}` });
    return undefined;
  }
  if (resource.work && resource.expects) return change(host, taskRun, seen, rest, options);
  const what = `unknown until ${seen.until}, which did not happen`;
  host.done(task, 'failed', { error: new Failure(what, { hint: resource.hint }) });
  return `${task.resource} failed`;
}

/**
 * @returns why the host stops here, or undefined
 */
async function convergeDrift(
  host: HostRun,
  taskRun: TaskRun,
  seen: Drift,
  rest: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  const { task, resource } = taskRun;
  if (isWarning(resource, seen)) {
    host.done(task, 'warning', { note: describeUnmet(resource, seen) });
    return undefined;
  }
  const { differences, note } = seen;
  try {
    vet(taskRun, seen, options);
  } catch (error) {
    host.done(task, 'failed', { differences, note, error });
    return `${task.resource} failed`;
  }
  if (!resource.expects && options.confirmEach) {
    const answer = await options.confirmEach(task, seen);
    if (answer === 'quit') return quitByOperator;
    if (answer === 'skip') {
      host.done(task, 'skipped', { differences, note });
      // Later rewrites of the same file were checked as if it had been made.
      host.state += 1;
      return undefined;
    }
  }
  return change(host, taskRun, seen, rest, options);
}

/**
 * @throws Failure where the plan that the run follows has another change, or none: it showed only
 * after another change
 */
function vet({ task, resource, turn }: TaskRun, seen: Verdict, { refuses }: ChangeOptions): void {
  // A plan that showed less keeps no host from leaving before its changes.
  if (resource.expects || turn || seen.is !== 'drift') return;
  const why = refuses?.(task, seen.change);
  if (why !== undefined) throw new Failure(why, { hint: 'make a new plan: --check --out FILE' });
}

/**
 * @returns why the host stops here, or undefined when it converged
 */
async function change(
  host: HostRun,
  taskRun: TaskRun,
  before: Drift | Unknown,
  rest: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  const { task, resource } = taskRun;
  const start = performance.now();
  let note = before.is === 'drift' ? before.note : undefined;
  const details = (error?: unknown) => ({
    ...(before.is === 'drift' && { differences: before.differences }),
    note,
    error,
    seconds: (performance.now() - start) / 1000,
  });
  let isMade = false;
  const apply = async () => {
    isMade = await makeAlone(host, taskRun, before, rest, options.stop);
  };
  try {
    host.started(task);
    if (!resource.everyHost) await apply();
    else {
      const unseen = await options.whileEveryHost(resource.everyHost, apply);
      note = [note, unseen].filter((part) => part !== undefined).join('; ') || undefined;
    }
  } catch (error) {
    // An interrupted wait is neither done nor failed: the next run continues it.
    if (error instanceof Interrupted) return error.message;
    // The run reports the holder of the lock.
    if (error instanceof Problem && error.code === exitCode.locked) return 'locked by another run';
    host.done(task, 'failed', details(error));
    return `${task.resource} failed`;
  }
  if (!isMade) return convergeAgain(host, taskRun, before, rest, options);
  // What it was before a wait is over.
  if (resource.expects) host.done(task, 'ok', { seconds: details().seconds });
  else host.done(task, 'changed', details());
  return undefined;
}

/**
 * After a change that was not made: its check is out of date, or the run is stopped.
 *
 * @returns why the host stops here, or undefined
 */
async function convergeAgain(
  host: HostRun,
  taskRun: TaskRun,
  before: Verdict,
  rest: readonly TaskRun[],
  options: ChangeOptions,
): Promise<string | undefined> {
  if (options.stop.aborted) return 'interrupted';
  if (taskRun.seenIn !== host.state) await host.check(next(rest));
  // The operator has agreed to the change before, and to no other.
  const isAgreed = isDeepStrictEqual(taskRun.seen, before);
  return convergeOne(host, taskRun, rest, isAgreed ? { ...options, confirmEach: undefined } : options);
}

/**
 * Makes the change of one task in a request of its own, then does the work of its resource, and
 * proves both by the check.
 *
 * @returns false where the check is out of date or the run is stopped: nothing was changed then
 * @throws the Problem or the error of the change or of the work
 */
async function makeAlone(
  host: HostRun,
  taskRun: TaskRun,
  before: Verdict,
  rest: readonly TaskRun[],
  stop: AbortSignal,
): Promise<boolean> {
  const { task, resource } = taskRun;
  if (stop.aborted) return false;
  const steps = stepsThatEnd(resource, before);
  const checked = next(resource.provesItself ? rest.slice(1) : rest);
  if (steps.length > 0) {
    const { made, error } = await host.makeChanges([{ taskRun, steps }], resource.work ? [] : checked, stop);
    if (error !== undefined) throw error;
    if (made === 0) return false;
  }
  if (resource.work) {
    host.state += 1;
    await resource.work(host.writerFor(task));
    await host.check(checked);
  }
  if (resource.provesItself) return true;
  const after = taskRun.seen;
  if (!after || after.is === 'error') throw after?.error;
  if (after.is !== 'ok') throw didNotConverge(before, after);
  return true;
}

/**
 * The first task and the following ones, up to some changes ahead by the last check. After one
 * that travels alone all others are checked again, so it is the last.
 */
function next(taskRuns: readonly TaskRun[]): readonly TaskRun[] {
  let left = mostTogether;
  const last = taskRuns.findIndex((taskRun, at) => {
    if (at === 0 || taskRun.seen?.is !== 'drift' || isWarning(taskRun.resource, taskRun.seen)) return false;
    left -= 1;
    return left === 0 || travelsAlone(taskRun.resource);
  });
  return last < 0 ? taskRuns : taskRuns.slice(0, last + 1);
}
