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

  /** What applying a resource would run; nothing is changed. */
  preview(resource: Resource): Promise<string[]> {
    return previewOf(resource, this.#session.reader);
  }

  /** Looks at the items, all in one tick so that their reads travel together. */
  async look(items: readonly Item[]): Promise<void> {
    await Promise.all(
      items.map(async (item) => {
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
    const { differences = [], note, error, seconds = 0, commands = [] } = details;
    this.#tell({ type: 'resource-done', step, outcome, differences, note, error, seconds, commands });
  }

  /** No more is done on this host, and why. */
  stop(play: string, why: string): void {
    this.stopped = why;
    this.#tell({ type: 'host-stopped', host: this.name, play, why });
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
      roundTrips: this.#session.roundTrips(),
    };
  }

  get changed(): number {
    return this.#counts.changed;
  }
}
