import type { ChangesMade } from '../host/changes/make-changes.ts';
import { type RecordedRead, repeating } from '../host/reads/recorded-read.ts';
import type { Step } from '../host/step.ts';
import { scriptOf } from '../host/step-script.ts';
import { Failure, Problem } from '../problem/problem.ts';
import { describeVerdict, type Resource, type Verdict } from '../resource/resource.ts';
import type { HostRun, TaskRun, TaskRunChange } from './host-run.ts';

/** The most changes of one request. */
export const mostTogether = 60;
/**
 * A larger change goes by itself: a shell reads secrets byte by byte. Bytes of all steps of a
 * request.
 */
const mostContent = 64 * 1024;

/** The check after a change still shows drift. */
export function didNotConverge(before: Verdict, after: Verdict): Failure {
  const [was, is] = [describeVerdict(before), describeVerdict(after)];
  return new Failure(`applied but did not converge\n  before: ${was}\n  after:  ${is}`);
}

/** Whether a change of the resource is a request of its own. */
export function travelsAlone({ work, everyHost }: Resource): boolean {
  return work !== undefined || everyHost !== undefined;
}

/** Items whose changes travel in one request. The last one has a change. */
type Together = readonly {
  readonly taskRun: TaskRun;
  readonly before: Verdict;
  readonly change: TaskRunChange | undefined;
}[];

/**
 * The first tasks, as long as each is ok or has a change that is known from its check, with
 * nothing to look at in between.
 *
 * @param fits whether a change may be made without a question
 * @returns undefined if the first that is not ok has no such change
 */
export function changesTogether(
  host: HostRun,
  taskRuns: readonly TaskRun[],
  fits: (taskRun: TaskRun) => boolean,
): Together | undefined {
  const all: Together[number][] = [];
  let reads: RecordedRead[] = [];
  let end = 0;
  let count = 0;
  let size = 0;
  for (const taskRun of taskRuns) {
    const { seen, resource, seenIn } = taskRun;
    if (!seen || seen.is === 'error' || seenIn !== host.state) break;
    if (count > 0) reads.push(...taskRun.reads);
    if (seen.is === 'ok') {
      all.push({ taskRun, before: seen, change: undefined });
      continue;
    }
    if (
      resource.expects ||
      travelsAlone(resource) ||
      seen.is !== 'drift' ||
      !seen.change ||
      seen.change instanceof Problem ||
      !fits(taskRun)
    )
      break;
    size += seen.change.reduce((sum, step) => sum + sizeOf(step), 0);
    if ((count > 0 && size > mostContent) || count === mostTogether) break;
    all.push({
      taskRun,
      before: seen,
      change: { taskRun, steps: seen.change, conditions: repeating(reads) },
    });
    reads = [];
    count += 1;
    end = all.length;
  }
  return count > 0 ? all.slice(0, end) : undefined;
}

/**
 * Makes the changes in one request, and proves each by its check in the same request.
 *
 * @param checked the tasks that are checked after the changes: those of the changes, and later
 * ones
 * @returns how many tasks are done, and why the host stops
 */
export async function changeTogether(
  host: HostRun,
  together: Together,
  checked: readonly TaskRun[],
  stop: AbortSignal,
) {
  const changes = together.flatMap(({ change }) => change ?? []);
  const starts: number[] = [];
  const started = (at: number) => {
    starts[at] = performance.now();
    const taskRun = changes[at]?.taskRun;
    if (taskRun) host.started(taskRun.task);
  };
  const made = await host.makeChanges(changes, checked, stop, started);
  const now = performance.now();
  const seconds = (at: number) => ((starts[at + 1] ?? now) - (starts[at] ?? now)) / 1000;
  return report(host, together, made, seconds);
}

/**
 * Reports the outcome of each task, in order. An unproved change stops the host, and those after
 * it that were made are reported.
 */
function report(
  host: HostRun,
  together: Together,
  { made, error, lost }: ChangesMade,
  seconds: (change: number) => number,
) {
  let failed: string | undefined;
  let handled = 0;
  let change = 0;
  const okBefore: TaskRun[] = [];
  for (const [at, { taskRun, before, change: ready }] of together.entries()) {
    if (!ready) {
      okBefore.push(taskRun);
      continue;
    }
    const isMade = change < made;
    if (isMade && lost) {
      change += 1;
      okBefore.length = 0;
      continue;
    }
    if (!isMade && (change > made || error === undefined)) break;
    for (const { task, seen } of okBefore.splice(0))
      host.done(task, 'ok', { note: seen?.is === 'ok' ? seen.note : undefined });
    const fault = isMade ? unproved(taskRun, before) : error;
    const drift = before.is === 'drift' ? { differences: before.differences, note: before.note } : {};
    const details = { ...drift, error: fault, seconds: seconds(change) };
    host.done(taskRun.task, fault === undefined ? 'changed' : 'failed', details);
    if (fault !== undefined) failed ??= `${taskRun.task.resource} failed`;
    change += 1;
    handled = at + 1;
  }
  return { handled, failed };
}

function sizeOf(step: Step): number {
  return (step.do === 'run' ? step.command.length : 0) + (scriptOf(step).stdin?.length ?? 0);
}

/** Why a change is not proved by the check after it. */
function unproved({ seen, resource }: TaskRun, before: Verdict): unknown {
  if (resource.provesItself) return undefined;
  if (seen?.is === 'error') return seen.error;
  return seen?.is === 'ok' ? undefined : didNotConverge(before, seen ?? before);
}
