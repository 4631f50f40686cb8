import type { Progress } from '../../host/host.ts';
import type { RunEvent } from '../../run/events.ts';
import { redact } from '../../secret/secret.ts';
import { printable } from '../../text/printable.ts';
import { type Pace, progressText, seconds } from '../units.ts';
import { Pacer } from './pace.ts';

/** What one host is doing right now. Its texts are one line each, with no secret in them and nothing that steers a terminal. */
export interface Busy {
  readonly host: string;
  /** `role: resource`. */
  readonly task: string;
  /** How long it has been at it. */
  readonly seconds: number;
  readonly progress: Progress | undefined;
  readonly pace: Pace;
  /** How many of its tasks are done, and how many it has. */
  readonly tasksDone: number;
  readonly tasks: number | undefined;
}

interface Doing {
  readonly task: string;
  readonly since: number;
  progress: Progress | undefined;
  pacer: Pacer;
}

/** Follows a run's events and tells what each busy host is doing. Time in seconds, from any fixed origin. */
export class BusyHosts {
  readonly #doing = new Map<string, Doing>();
  readonly #tasks = new Map<string, number>();
  readonly #done = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now() / 1000) {
    this.#now = now;
  }

  follow(event: RunEvent): void {
    switch (event.type) {
      case 'host-looked':
        this.#tasks.set(event.host, event.tasks);
        break;
      case 'resource-started': {
        const { host, role, resource } = event.step;
        const task = oneLine(`${role}: ${resource}`);
        this.#doing.set(host, { task, since: this.#now(), progress: undefined, pacer: new Pacer() });
        break;
      }
      case 'progress': {
        const doing = this.#doing.get(event.step.host);
        if (!doing) break;
        const progress = { ...event.progress, what: oneLine(event.progress.what) };
        if (doing.progress?.what !== progress.what) doing.pacer = new Pacer();
        if (progress.done !== undefined) doing.pacer.add(this.#now(), progress.done);
        doing.progress = progress;
        break;
      }
      case 'resource-done': {
        const { host } = event.step;
        this.#doing.delete(host);
        this.#done.set(host, (this.#done.get(host) ?? 0) + 1);
        break;
      }
      case 'host-stopped':
        this.#doing.delete(event.host);
        break;
      case 'run-failed':
      case 'run-finished':
        this.#doing.clear();
        break;
    }
  }

  /** In the order in which they began. */
  list(): Busy[] {
    const now = this.#now();
    return [...this.#doing].map(([host, { task, since, progress, pacer }]) => ({
      host,
      task,
      seconds: now - since,
      progress,
      pace: pacer.pace(now, progress?.total),
      tasksDone: this.#done.get(host) ?? 0,
      tasks: this.#tasks.get(host),
    }));
  }
}

/** `docker: file /etc/docker/daemon.json (2.0 s) copied 5 rows`. */
export function busyText({ task, seconds: since, progress, pace }: Busy): string {
  const text = `${task} (${seconds(since)})`;
  return progress ? `${text} ${progressText(progress, pace)}` : text;
}

function oneLine(text: string): string {
  return printable(redact(text)).replace(/\s+/g, ' ');
}
