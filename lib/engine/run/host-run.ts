import type { Writer } from '../host/host.ts';
import type { Resource, Verdict } from '../resource/resource.ts';
import type { HostSummary, Listener, Outcome, RunEvent, Step } from './events.ts';
import { previewOf } from './preview.ts';
import type { Session } from './session.ts';

/** One resource of one host, where it comes in the playbook, and what looking at it last showed. */
export interface Item {
  readonly step: Step;
  readonly resource: Resource;
  /** undefined before the first look. An error thrown by the check stands in for a verdict. */
  seen: Verdict | CheckError | undefined;
  /** Of which state of the host that was, by `HostRun.state`. */
  seenIn: number;
}

/** A check that threw. */
export interface CheckError {
  readonly is: 'error';
  readonly error: unknown;
}

type ResourceDone = Extract<RunEvent, { type: 'resource-done' }>;

/** One host in one run: what is to be looked at there, and what came of it. */
export class HostRun {
  readonly name: string;
  readonly #session: Session;
  readonly #tell: Listener;
  readonly #counts: Record<Outcome, number> = { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
  items: readonly Item[] = [];
  stopped: string | undefined;
  /** Goes up with each change that may show here: what was seen before it may not be true any more. */
  state = 0;
  readonly #done = new Set<Step>();
  #seconds = 0;

  constructor(name: string, session: Session, tell: Listener) {
    this.name = name;
    this.#session = session;
    this.#tell = tell;
  }

  /** A Writer whose progress is told as this step's. */
  writerFor(step: Step): Writer {
    return this.#session.writerFor((progress) => this.#tell({ type: 'progress', step, progress }));
  }

  /** Whether anything here is to be changed, or may be. */
  get isDue(): boolean {
    return this.items.some(
      ({ seen, resource }) => seen?.is === 'unknown' || (seen?.is === 'drift' && resource.expects === undefined),
    );
  }

  /** Its connection. */
  get session(): Session {
    return this.#session;
  }

  /** What applying a resource would run; nothing is changed. */
  preview(resource: Resource): Promise<string[]> {
    return previewOf(resource, this.#session.reader);
  }

  /** Looks at all items for the first time. */
  async lookFirst(): Promise<void> {
    await this.look(this.items);
    this.#tell({ type: 'host-looked', host: this.name, tasks: this.items.length });
  }

  /** Looks at the items, all in one tick so that their reads travel together. */
  async look(items: readonly Item[]): Promise<void> {
    const { state } = this;
    await Promise.all(
      items.map(async (item) => {
        item.seenIn = state;
        try {
          item.seen = await item.resource.check(this.#session.reader);
        } catch (error) {
          item.seen = { is: 'error', error };
        }
      }),
    );
  }

  started(step: Step): void {
    this.#tell({ type: 'resource-started', step });
  }

  /** Counts and tells how a resource ended. */
  done(
    step: Step,
    outcome: Outcome,
    details: Partial<Pick<ResourceDone, 'differences' | 'note' | 'error' | 'seconds' | 'commands'>> = {},
  ): void {
    this.#counts[outcome] += 1;
    this.#done.add(step);
    const { differences = [], note, error, seconds = 0, commands = [] } = details;
    this.#tell({ type: 'resource-done', step, outcome, differences, note, error, seconds, commands });
  }

  /** No more is done on this host, and why. */
  stop(play: string, why: string): void {
    this.stopped = why;
    this.#tell({ type: 'host-stopped', host: this.name, play, why, ...this.left() });
  }

  /** How many tasks are not done, and the first of them. */
  left(): { readonly left: number; readonly next?: string } {
    const rest = this.items.filter(({ step }) => !this.#done.has(step));
    const [next] = rest;
    return { left: rest.length, ...(next && { next: next.step.resource }) };
  }

  /** Measures time spent on this host, in seconds. */
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
      roundTrips: this.#session.roundTrips(),
    };
  }

  get changed(): number {
    return this.#counts.changed;
  }
}
