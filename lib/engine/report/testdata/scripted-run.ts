import { eventLine } from '../../output/event-json.ts';
import type { Difference } from '../../resource/resource.ts';
import type { Counts, HostSummary, Outcome, RunEvent } from '../../run/events.ts';
import { parseEvent, type RecordedEvent } from '../recorded-event.ts';

/** An event with its time, in milliseconds since 1970. */
export interface TimedEvent {
  readonly event: RunEvent;
  readonly at: number;
}

/** The result of one task. */
export interface Done {
  readonly outcome?: Outcome;
  readonly seconds?: number;
  readonly differences?: readonly Difference[];
  readonly note?: string;
  readonly error?: unknown;
  readonly commands?: readonly string[];
}

/**
 * A run that consists of the work of its hosts, each with its own clock. Times are seconds since
 * the start.
 */
export class ScriptedRun {
  readonly #start: number;
  readonly #events: TimedEvent[] = [];
  readonly #clocks = new Map<string, number>();
  readonly #own = new Map<string, number>();
  readonly #stopped = new Map<string, string>();
  readonly #counts = new Map<string, Counts>();

  constructor(start: number) {
    this.#start = start;
  }

  /** When the host ended its last task. */
  clock(host: string): number {
    return this.#clocks.get(host) ?? 0;
  }

  emit(event: RunEvent, seconds: number): void {
    this.#events.push({ event, at: this.#start + Math.round(seconds * 1000) });
  }

  started(playbook: string, inventory: string, hosts: readonly string[], check = false): void {
    this.emit({ type: 'run-started', playbook, inventory, check, hosts }, 0);
  }

  connected(host: string, seconds: number, look: number): void {
    this.emit({ type: 'host-connected', host, seconds }, seconds);
    this.emit({ type: 'host-looked', host, tasks: 20 }, seconds + look);
    this.#clocks.set(host, seconds + look);
    this.#own.set(host, look);
  }

  /** Starts when the slowest host has finished the previous play. */
  play(play: string, hosts: readonly string[]): void {
    const at = Math.max(...this.#clocks.values()) + 0.05;
    this.emit({ type: 'play-started', play, hosts }, at);
    for (const host of hosts) this.#clocks.set(host, at);
  }

  done(host: string, play: string, role: string, resource: string, done: Done = {}): void {
    const { outcome = 'ok', seconds = 0, differences = [], note, error, commands = [] } = done;
    const task = { host, play, role, resource };
    const at = this.clock(host) + seconds;
    if (seconds > 0) this.emit({ type: 'resource-started', task }, this.clock(host));
    this.emit({ type: 'resource-done', task, outcome, differences, note, error, seconds, commands }, at);
    this.#clocks.set(host, at + 0.002);
    this.#own.set(host, (this.#own.get(host) ?? 0) + seconds);
    const counts = this.#counts.get(host) ?? none();
    counts[outcome] += 1;
    this.#counts.set(host, counts);
  }

  /**
   * @param left how many tasks are not done, and `next` the first of them
   */
  stopped(host: string, play: string, why: string, left?: number, next?: string): void {
    const rest = { ...(left !== undefined && { left }), ...(next !== undefined && { next }) };
    this.emit({ type: 'host-stopped', host, play, why, ...rest }, this.clock(host));
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
    this.emit({ type: 'run-finished', hosts: summaries, seconds, interrupted }, seconds);
  }

  /** In the order of their times. */
  events(): readonly TimedEvent[] {
    return this.#events.toSorted((a, b) => a.at - b.at);
  }
}

/** The lines of a record. */
export function recordText(events: readonly TimedEvent[]): string {
  return events.map(({ event, at }) => `${eventLine(event, at)}\n`).join('');
}

/** The events as they are read from a record. */
export function recorded(events: readonly TimedEvent[]): RecordedEvent[] {
  return events.flatMap(({ event, at }) => parseEvent(eventLine(event, at)) ?? []);
}

function none(): Counts {
  return { ok: 0, changed: 0, pending: 0, unknown: 0, warning: 0, failed: 0 };
}
