import type { Progress } from '../../host/host.ts';
import type { RunEvent } from '../../run/events.ts';
import { redact } from '../../secret/secret.ts';
import { printable } from '../../text/printable.ts';
import { type Pace, progressText, seconds } from '../units.ts';
import { Pacer } from './pace.ts';

/**
 * The task that a host is working on. Texts are one line, with secrets redacted and control
 * characters written out.
 */
export interface RunningTask {
  readonly host: string;
  /** `role: resource`. */
  readonly task: string;
  /** Since its start. */
  readonly seconds: number;
  readonly progress: Progress | undefined;
  readonly pace: Pace;
  /** Finished tasks of the host. */
  readonly tasksDone: number;
  /** All tasks of the host, where their number is known. */
  readonly tasks: number | undefined;
}

interface Entry {
  /** `role: resource`. */
  readonly task: string;
  readonly since: number;
  progress: Progress | undefined;
  pacer: Pacer;
}

/**
 * Follows the events of a run and lists the running tasks. Time is in seconds from any fixed
 * origin.
 */
export class RunningTasks {
  readonly #running = new Map<string, Entry>();
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
        const { host, role, resource } = event.task;
        const task = oneLine(`${role}: ${resource}`);
        this.#running.set(host, { task, since: this.#now(), progress: undefined, pacer: new Pacer() });
        break;
      }
      case 'progress': {
        const entry = this.#running.get(event.task.host);
        if (!entry) break;
        const progress = { ...event.progress, what: oneLine(event.progress.what) };
        if (entry.progress?.what !== progress.what) entry.pacer = new Pacer();
        if (progress.done !== undefined) entry.pacer.add(this.#now(), progress.done);
        entry.progress = progress;
        break;
      }
      case 'resource-done': {
        const { host } = event.task;
        this.#running.delete(host);
        this.#done.set(host, (this.#done.get(host) ?? 0) + 1);
        break;
      }
      case 'host-stopped':
        this.#running.delete(event.host);
        break;
      case 'run-failed':
      case 'run-finished':
        this.#running.clear();
        break;
    }
  }

  /** In the order of their starts. */
  list(): RunningTask[] {
    const now = this.#now();
    return [...this.#running].map(([host, { task, since, progress, pacer }]) => ({
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
export function runningTaskText({ task, seconds: since, progress, pace }: RunningTask): string {
  const text = `${task} (${seconds(since)})`;
  return progress ? `${text} ${progressText(progress, pace)}` : text;
}

function oneLine(text: string): string {
  return printable(redact(text)).replace(/\s+/g, ' ');
}
