import { describeStep, type Step } from '../host/step.ts';
import { Problem } from '../problem/problem.ts';
import { sha256Of } from '../resource/file/content.ts';
import {
  type Difference,
  describeUnmet,
  type EveryHost,
  fileChange,
  isWarning,
} from '../resource/resource.ts';
import type { Outcome, Task } from './events.ts';
import type { FleetVerdict } from './fleet-verdict.ts';
import { dependsOnContent } from './foreseen.ts';
import type { HostRun, TaskRun } from './host-run.ts';

/** What a run does for one task. */
export interface Planned {
  readonly task: Task;
  readonly outcome: Exclude<Outcome, 'changed' | 'skipped'>;
  readonly differences: readonly Difference[];
  readonly note: string | undefined;
  readonly error: unknown;
  /**
   * The steps of its change, without the work of a resource that has to look in between. undefined
   * where an earlier change of the plan decides them.
   */
  readonly steps: readonly Step[] | undefined;
  /** Whether it follows from earlier changes and is not visible yet. */
  readonly predicted: boolean;
}

/** What a run does on one host: its tasks, in order. */
export interface HostPlan {
  readonly host: string;
  readonly tasks: readonly Planned[];
}

/** Whether anything would be changed. An unknown counts, because it waits for a change. */
export function changesSomething({ tasks }: HostPlan): boolean {
  return tasks.some(({ outcome }) => outcome === 'pending' || outcome === 'unknown');
}

/**
 * The plan of a host, from its last checks. A change is followed to the resources that depend on
 * it: a certain effect is pending, a possible one is unknown. A change with a condition for every
 * host is judged by that condition, too.
 *
 * @param everyHost checks a condition on all hosts of the inventory
 */
export async function planOf(
  host: HostRun,
  everyHost: (condition: EveryHost) => Promise<FleetVerdict>,
): Promise<Planned[]> {
  return Promise.all(
    plannedTasks(host.taskRuns).map(async (each, at) => {
      const taskRun = host.taskRuns[at];
      if (!taskRun || (each.outcome !== 'pending' && each.outcome !== 'unknown')) return each;
      const condition = taskRun.resource.everyHost;
      return condition ? judgedBy(await everyHost(condition), each) : each;
    }),
  );
}

/**
 * The plan of a host's tasks, from their last checks and the effects of earlier ones, without
 * conditions for every host.
 */
export function plannedTasks(taskRuns: readonly TaskRun[]): Planned[] {
  /** The effects so far, and whether each is certain. */
  const moved = new Map<string, boolean>();
  /** SHA-256 of the contents so far. */
  const contents = new Map<string, string>();
  /** The newest task that changes something, or may do so. */
  let earlier: string | undefined;
  return taskRuns.map((taskRun) => {
    const seen = plannedOf(taskRun);
    const steps = seen.steps && knownSteps(seen.steps, moved, contents);
    const followed = afterChanges(taskRun, { ...seen, steps }, moved, earlier);
    for (const step of steps ?? []) if ('content' in step) contents.set(step.path, sha256Of(step.content));
    if (followed.outcome === 'pending' || followed.outcome === 'unknown') {
      for (const what of taskRun.resource.changes?.(followed.differences) ?? [])
        moved.set(what, moved.get(what) || followed.outcome === 'pending');
      if (!taskRun.resource.expects) earlier = taskRun.task.resource;
    }
    return followed;
  });
}

/**
 * A text that an earlier change decides in its turn will be another one then: undefined for a step
 * that depends on it.
 */
function knownSteps(
  steps: readonly Step[],
  moved: ReadonlyMap<string, boolean>,
  contents: ReadonlyMap<string, string>,
): readonly Step[] | undefined {
  const isOpen = (step: Step) =>
    dependsOnContent(step) &&
    moved.has(fileChange(step.path)) &&
    !(step.do === 'rewrite' && contents.get(step.path) === step.was);
  return steps.some(isOpen) ? undefined : steps;
}

function judgedBy({ refused, until, note }: FleetVerdict, planned: Planned): Planned {
  if (refused) return { ...planned, outcome: 'failed', note: undefined, error: refused, steps: [] };
  if (until !== undefined && planned.outcome === 'pending')
    return { ...planned, outcome: 'unknown', note: `until ${until}` };
  return {
    ...planned,
    note: [planned.note, note].filter((part) => part !== undefined).join('; ') || undefined,
  };
}

function plannedOf({ task, resource, seen }: TaskRun): Planned {
  const nothing = { task, differences: [], note: undefined, error: undefined, steps: [], predicted: false };
  if (!seen || seen.is === 'error') return { ...nothing, outcome: 'failed', error: seen?.error };
  if (seen.is === 'ok') return { ...nothing, outcome: 'ok', note: seen.note };
  if (seen.is === 'unknown') return { ...nothing, outcome: 'unknown', note: `until ${seen.until}` };
  if (isWarning(resource, seen) || seen.undecided)
    return { ...nothing, outcome: 'warning', note: describeUnmet(resource, seen) };
  if (resource.expects === 'must')
    return { ...nothing, outcome: 'failed', note: describeUnmet(resource, seen) };
  // A deploy refuses it in its turn.
  if (seen.change instanceof Problem)
    return { ...nothing, outcome: 'failed', differences: seen.differences, error: seen.change };
  const steps = seen.change ?? [];
  return { ...nothing, outcome: 'pending', differences: seen.differences, note: seen.note, steps };
}

/**
 * A task after the changes before it. They may meet an expectation that is unmet now, so it is
 * checked again in its turn, as one is that is met now.
 *
 * @param earlier a change before it: an expectation that waits may wait for any of them
 */
function afterChanges(
  taskRun: TaskRun,
  seen: Planned,
  moved: ReadonlyMap<string, boolean>,
  earlier: string | undefined,
): Planned {
  if (seen.outcome === 'ok') return following(taskRun, moved) ?? seen;
  const { resource, seen: verdict } = taskRun;
  const isUnmet = resource.expects && verdict?.is === 'drift' && !isWarning(resource, verdict);
  if (!isUnmet) return seen;
  const why = following(taskRun, moved)?.note;
  const after =
    why ?? (resource.work && earlier !== undefined ? `is checked again after ${earlier}` : undefined);
  if (after === undefined) return seen;
  return { ...seen, outcome: 'unknown', note: `${after}; now: ${seen.note}`, predicted: true };
}

/** The first certain effect of an earlier change, or else the first possible one. */
function following({ task, resource }: TaskRun, moved: ReadonlyMap<string, boolean>): Planned | undefined {
  const met = (resource.follows ?? []).filter(({ what }) => moved.has(what));
  const certain = met.find((each) => each.certain && moved.get(each.what));
  const first = certain ?? met[0];
  if (!first) return undefined;
  // An expectation is only checked, never changed.
  const outcome = certain && !resource.expects ? 'pending' : 'unknown';
  const because = `${first.effect} after ${first.what}${certain ? '' : ', maybe'}`;
  return {
    task,
    outcome,
    differences: [],
    note: because,
    error: undefined,
    steps: undefined,
    predicted: true,
  };
}

/** The steps of a planned change as the operator reads them. */
export function commandsOf({ steps = [] }: Pick<Planned, 'steps'>): string[] {
  return steps.map(describeStep);
}
