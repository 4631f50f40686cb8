import type { ReadyChange } from '../host/changes/changes-script.ts';
import type { ChangesMade } from '../host/changes/make-changes.ts';
import type { Progress, Reader, Writer } from '../host/host.ts';
import type { RecordedRead } from '../host/reads/recorded-read.ts';
import type { Session } from '../host/session.ts';
import type { Step } from '../host/step.ts';
import { Failure } from '../problem/problem.ts';
import type { Resource, Verdict } from '../resource/resource.ts';
import type { Counts, HostSummary, Listener, Outcome, RunEvent, Task } from './events.ts';
import { Foreseen } from './foreseen.ts';

/** A task in a run: a resource of one host, and the result of its last check. */
export interface TaskRun {
  readonly task: Task;
  readonly resource: Resource;
  /** Set on the tasks that surround the changes of a host with clients. */
  readonly turn?: 'leave' | 'back';
  /** undefined before the first check. */
  seen: Verdict | CheckError | undefined;
  /** The `HostRun.state` at that check. */
  seenIn: number;
  /** The reads of that check, as commands that repeat them. */
  reads: Set<RecordedRead>;
  /** How often its change was not made because that check was out of date. */
  outdated?: number;
}

/** The change of a task. */
export interface TaskRunChange extends ReadyChange {
  readonly taskRun: TaskRun;
}

/** A check that threw. */
interface CheckError {
  readonly is: 'error';
  readonly error: unknown;
}

/** So often a change is tried whose check is out of date each time. */
const mostTries = 3;

/** A check whose read took longer is shown with its time. Seconds. */
const slowCheck = 1;

type ResourceDone = Extract<RunEvent, { type: 'resource-done' }>;

/** One host in one run: its tasks and their results. */
export class HostRun {
  readonly name: string;
  readonly session: Session;
  readonly #emit: Listener;
  readonly #counts: Counts = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
  taskRuns: readonly TaskRun[] = [];
  stopped: string | undefined;
  /** Increased by each change that may affect this host. Earlier checks are outdated then. */
  state = 0;
  readonly #done = new Set<Task>();
  #seconds = 0;
  /** Seconds of the slowest read of each check that took long. */
  readonly #slow = new Map<Task, number>();
  #first = () => '';
  /** Whether the first line of its journal was sent. */
  isOpen = false;
  /** What was changed, and what failed. */
  readonly titles = { changed: [] as string[], failed: [] as string[] };

  constructor(name: string, session: Session, emit: Listener) {
    this.name = name;
    this.session = session;
    this.#emit = emit;
  }

  /** A Writer that reports its progress for this task. */
  writerFor(task: Task): Writer {
    const report = (progress: Progress) => this.#emit({ type: 'progress', task, progress });
    return this.session.writerFor(report, () => this.#takeFirst());
  }

  /**
   * Sets what the host runs once, before the first change and in the same request: the first line
   * of its journal.
   */
  before(first: () => string): void {
    this.#first = first;
  }

  #takeFirst(): string {
    const first = this.#first();
    if (first !== '') this.isOpen = true;
    this.#first = () => '';
    return first;
  }

  /** Whether something has to be changed, or may have to. */
  get isDue(): boolean {
    return this.taskRuns.some(
      ({ seen, resource }) =>
        seen?.is === 'unknown' || (seen?.is === 'drift' && resource.expects === undefined),
    );
  }

  readonly #recording = (reads: Set<RecordedRead>): Reader => this.session.recording(reads);

  /** Checks all tasks for the first time. */
  async checkAll(): Promise<void> {
    await this.check(this.taskRuns);
    this.#emit({ type: 'host-looked', host: this.name, tasks: this.taskRuns.length });
  }

  /** Checks the tasks, all in one tick, so that their reads share a request. */
  async check(taskRuns: readonly TaskRun[], readerFor = this.#recording): Promise<void> {
    const { state } = this;
    await Promise.all(
      taskRuns.map(async (taskRun) => {
        taskRun.seenIn = state;
        taskRun.seen = await this.#see(taskRun, readerFor);
        const slowest = Math.max(0, ...[...taskRun.reads].map(({ seconds = 0 }) => seconds));
        if (slowest >= slowCheck) this.#slow.set(taskRun.task, slowest);
      }),
    );
    await this.#checkAhead(taskRuns);
  }

  async #see(
    taskRun: TaskRun,
    readerFor: (reads: Set<RecordedRead>) => Reader,
  ): Promise<Verdict | CheckError> {
    taskRun.reads = new Set();
    try {
      return await taskRun.resource.check(readerFor(taskRun.reads));
    } catch (error) {
      return { is: 'error', error };
    }
  }

  /**
   * Checks a task again whose text depends on a file that an earlier change writes, with the
   * content that this leaves: so its steps are known before. They hold the hash of the content that
   * they need, so no other proof is needed that this came true.
   */
  async #checkAhead(taskRuns: readonly TaskRun[]): Promise<void> {
    const foreseen = new Foreseen();
    for (const taskRun of taskRuns) {
      const { seen, reads, resource } = taskRun;
      if (resource.expects) continue;
      if (foreseen.isRewritten(stepsOf(seen))) {
        taskRun.seen = await this.#see(taskRun, (recorded) => foreseen.contents(this.#recording(recorded)));
        // It may become unnecessary, or depend on more than contents: that is seen in its turn.
        if (!stepsOf(taskRun.seen).some((step) => step.do === 'rewrite'))
          [taskRun.seen, taskRun.reads] = [seen, reads];
      }
      foreseen.add(stepsOf(taskRun.seen));
    }
  }

  /**
   * Makes changes in one request, and checks tasks after them. The check of a first change may be
   * out of date, because a program on the host changes a file: after several tries in a row that
   * is a failure.
   *
   * @param checked the tasks that are checked
   * @param started called with the number of a change, from 0, before it is made
   * @returns the result, also where the connection was lost: the change that was being made counts
   * as failed
   */
  async makeChanges(
    changes: readonly TaskRunChange[],
    checked: readonly TaskRun[],
    stop: AbortSignal,
    started: (change: number) => void = () => {},
  ): Promise<ChangesMade> {
    if (stop.aborted) return { made: 0 };
    let last = 0;
    const follow = (change: number) => {
      last = change;
      started(change);
    };
    this.state += 1;
    const request = this.session.makeChanges(changes, { started: follow, stop, first: this.#takeFirst() });
    const [made] = await Promise.allSettled([request.ended, this.check(checked, request.readerFor)]);
    if (made.status === 'rejected') return { made: last, error: made.reason, lost: true };
    const { outdated } = made.value;
    const [first] = changes;
    if (outdated === undefined || made.value.made > 0 || !first) return made.value;
    first.taskRun.outdated = (first.taskRun.outdated ?? 0) + 1;
    if (first.taskRun.outdated < mostTries) return made.value;
    const error = new Failure(`${outdated} at each of ${mostTries} tries to change it`, {
      hint: 'find the program that writes it all the time, and stop it',
    });
    return { made: 0, error };
  }

  started(task: Task): void {
    this.#emit({ type: 'resource-started', task });
  }

  /** Counts and reports the outcome of a resource. */
  done(
    task: Task,
    outcome: Outcome,
    details: Partial<Pick<ResourceDone, 'differences' | 'note' | 'error' | 'seconds' | 'commands'>> = {},
  ): void {
    this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1;
    this.#done.add(task);
    if (outcome === 'changed' || outcome === 'failed') this.titles[outcome].push(task.resource);
    const { differences = [], note, error, seconds = this.#slow.get(task) ?? 0, commands = [] } = details;
    this.#emit({ type: 'resource-done', task, outcome, differences, note, error, seconds, commands });
  }

  /** Stops the work on this host. */
  stop(play: string, why: string): void {
    this.stopped = why;
    this.#emit({ type: 'host-stopped', host: this.name, play, why, ...this.left() });
  }

  /** The number of tasks that are not done, and the first of them. */
  left(): { readonly left: number; readonly next?: string } {
    const rest = this.taskRuns.filter(({ task }) => !this.#done.has(task));
    const [next] = rest;
    return { left: rest.length, ...(next && { next: next.task.resource }) };
  }

  /** Adds the time of the work to the host's time. */
  async timed<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.#seconds += (performance.now() - start) / 1000;
    }
  }

  summary(): HostSummary {
    return {
      host: this.name,
      counts: { ...this.#counts },
      seconds: this.#seconds,
      unreachable: false,
      stopped: this.stopped,
      ...(this.stopped !== undefined && this.left()),
      roundTrips: this.session.roundTrips(),
    };
  }

  /** Whether the operator left a task out. */
  get hasSkipped(): boolean {
    return this.#counts.skipped !== undefined;
  }

  get changed(): number {
    return this.#counts.changed;
  }
}

function stepsOf(seen: TaskRun['seen']): readonly Step[] {
  return seen?.is === 'drift' && Array.isArray(seen.change) ? seen.change : [];
}
