import type { Progress } from '../host/host.ts';
import { printable } from '../printable.ts';
import type { RunEvent } from '../run/events.ts';
import { progressText, seconds } from './units.ts';

/** What one host is doing right now. */
export interface Busy {
  readonly host: string;
  readonly what: string;
}

interface Doing {
  readonly what: string;
  readonly since: number;
  progress: Progress | undefined;
  /** First progress seen, for the mean rate since then. */
  first: { readonly at: number; readonly done: number } | undefined;
}

/** Follows a run's events and tells what each busy host is doing. Time in seconds, from any fixed origin. */
export class BusyHosts {
  readonly #doing = new Map<string, Doing>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now() / 1000) {
    this.#now = now;
  }

  follow(event: RunEvent): void {
    if (event.type === 'resource-started') {
      const what = `${event.step.role}: ${event.step.resource}`;
      this.#doing.set(event.step.host, { what, since: this.#now(), progress: undefined, first: undefined });
    } else if (event.type === 'progress') {
      const doing = this.#doing.get(event.step.host);
      if (!doing) return;
      const { done } = event.progress;
      if (doing.progress?.what !== event.progress.what) doing.first = undefined;
      if (done !== undefined) doing.first ??= { at: this.#now(), done };
      doing.progress = event.progress;
    } else if (event.type === 'resource-done') {
      this.#doing.delete(event.step.host);
    } else if (event.type === 'host-stopped') {
      this.#doing.delete(event.host);
    }
  }

  /** Each on one line, with nothing in it that steers the terminal. */
  list(): Busy[] {
    return [...this.#doing].map(([host, doing]) => ({
      host,
      what: printable(this.#describe(doing).replace(/\s+/g, ' ')),
    }));
  }

  #describe(doing: Doing): string {
    const elapsed = seconds(this.#now() - doing.since);
    if (!doing.progress) return `${doing.what} (${elapsed})`;
    return `${doing.what} (${elapsed}) ${progressText(doing.progress, this.#rate(doing, doing.progress))}`;
  }

  #rate(doing: Doing, progress: Progress): number | undefined {
    if (!doing.first || progress.done === undefined) return undefined;
    const passed = this.#now() - doing.first.at;
    return passed >= 1 ? (progress.done - doing.first.done) / passed : undefined;
  }
}
