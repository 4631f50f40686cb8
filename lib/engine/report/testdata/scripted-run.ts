import { eventLine } from '../../output/event-json.ts';
import type { Difference } from '../../resource/resource.ts';
import type { HostSummary, Outcome, RunEvent } from '../../run/events.ts';
import { parseEvent, type RecordedEvent } from '../recorded-event.ts';

/** An event with when it was told, in milliseconds since 1970. */
export interface Told {
  readonly event: RunEvent;
  readonly at: number;
}

/** What one resource came to, for a script of a run. */
export interface Done {
  readonly outcome?: Outcome;
  readonly seconds?: number;
  readonly differences?: readonly Difference[];
  readonly note?: string;
  readonly error?: unknown;
  readonly commands?: readonly string[];
}

/** Puts a run together out of what its hosts do, each by a clock of its own. Times are seconds since the start. */
export class Telling {
  readonly #start: number;
  readonly #told: Told[] = [];
  readonly #clocks = new Map<string, number>();
  readonly #own = new Map<string, number>();
  readonly #stopped = new Map<string, string>();
  readonly #counts = new Map<string, Record<Outcome, number>>();

  constructor(start: number) {
    this.#start = start;
  }

  /** When the host is done with all so far. */
  clock(host: string): number {
    return this.#clocks.get(host) ?? 0;
  }

  tell(event: RunEvent, seconds: number): void {
    this.#told.push({ event, at: this.#start + Math.round(seconds * 1000) });
  }

  started(playbook: string, inventory: string, hosts: readonly string[], check = false): void {
    this.tell({ type: 'run-started', playbook, inventory, check, hosts }, 0);
  }

  connected(host: string, seconds: number, look: number): void {
    this.tell({ type: 'host-connected', host, seconds }, seconds);
    this.tell({ type: 'host-looked', host, tasks: 20 }, seconds + look);
    this.#clocks.set(host, seconds + look);
    this.#own.set(host, look);
  }

  /** Begins when the slowest host is done with what it did before. */
  play(play: string, hosts: readonly string[]): void {
    const at = Math.max(...this.#clocks.values()) + 0.05;
    this.tell({ type: 'play-started', play, hosts }, at);
    for (const host of hosts) this.#clocks.set(host, at);
  }

  done(host: string, play: string, role: string, resource: string, done: Done = {}): void {
    const { outcome = 'ok', seconds = 0, differences = [], note, error, commands = [] } = done;
    const step = { host, play, role, resource };
    const at = this.clock(host) + seconds;
    if (seconds > 0) this.tell({ type: 'resource-started', step }, this.clock(host));
    this.tell({ type: 'resource-done', step, outcome, differences, note, error, seconds, commands }, at);
    this.#clocks.set(host, at + 0.002);
    this.#own.set(host, (this.#own.get(host) ?? 0) + seconds);
    const counts = this.#counts.get(host) ?? none();
    counts[outcome] += 1;
    this.#counts.set(host, counts);
  }

  /** @param left how many tasks are not done, and `next` the first of them */
  stopped(host: string, play: string, why: string, left?: number, next?: string): void {
    const rest = { ...(left !== undefined && { left }), ...(next !== undefined && { next }) };
    this.tell({ type: 'host-stopped', host, play, why, ...rest }, this.clock(host));
    this.#stopped.set(host, why);
  }

  finished(hosts: readonly string[], interrupted = false, unreachable: readonly string[] = []): void {
    const seconds = Math.max(...this.#clocks.values()) + 0.2;
    const summaries = hosts.map(
      (host): HostSummary => ({
        host,
        counts: this.#counts.get(host) ?? none(),
        seconds: this.#own.get(host) ?? 10,
        unreachable: unreachable.includes(host),
        stopped: unreachable.includes(host) ? 'unreachable' : this.#stopped.get(host),
        roundTrips: unreachable.includes(host) ? 0 : 6 + 2 * (this.#counts.get(host)?.changed ?? 0),
      }),
    );
    this.tell({ type: 'run-finished', hosts: summaries, seconds, interrupted }, seconds);
  }

  /** In the order of their times. */
  told(): readonly Told[] {
    return this.#told.toSorted((a, b) => a.at - b.at);
  }
}

/** What was told as the lines of a record. */
export function recordText(told: readonly Told[]): string {
  return told.map(({ event, at }) => `${eventLine(event, at)}\n`).join('');
}

/** What was told as a record gives it back. */
export function recorded(told: readonly Told[]): RecordedEvent[] {
  return told.flatMap(({ event, at }) => parseEvent(eventLine(event, at)) ?? []);
}

function none(): Record<Outcome, number> {
  return { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
}
