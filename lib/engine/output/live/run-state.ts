import type { RunEvent } from '../../run/events.ts';

/** The number of hosts in each state. */
export interface HostCounts {
  readonly hosts: number;
  readonly done: number;
  /** Failed, or stopped because another host failed. */
  readonly failed: number;
  readonly unreachable: number;
  /** Names of those that are not checked yet. */
  readonly awaited: readonly string[];
}

/**
 * Follows the events of a run and keeps its phase.
 * - `looking`: hosts are checked; `changing`: hosts are changed
 * - `waiting`: another run has the lock of a host
 * - `quiet`: a question may be open, or the run is over
 */
export class RunState {
  #phase: 'quiet' | 'changing' = 'quiet';
  #awaited = new Set<string>();
  /** In the order of the inventory. */
  hosts: readonly string[] = [];
  readonly #left = new Map<string, number>();
  readonly #failed = new Set<string>();
  readonly #unreachable = new Set<string>();
  stopping = false;
  /** The lock that the run waits for. */
  lock: { readonly host: string; readonly holder: string } | undefined;

  follow(event: RunEvent): void {
    switch (event.type) {
      case 'run-started':
        this.hosts = event.hosts;
        this.#awaited = new Set(event.hosts);
        break;
      case 'host-unreachable':
        this.#awaited.delete(event.host);
        this.#unreachable.add(event.host);
        break;
      case 'host-looked':
        this.#awaited.delete(event.host);
        this.#left.set(event.host, event.tasks);
        break;
      case 'lock-awaited':
        this.lock = event;
        break;
      case 'locks-taken':
        this.lock = undefined;
        // All are checked again.
        this.#awaited = new Set(this.hosts.filter((host) => !this.#unreachable.has(host)));
        break;
      case 'play-started':
        this.#phase = 'changing';
        break;
      case 'resource-done':
        this.#count(event.task.host, event.outcome === 'failed');
        break;
      case 'host-stopped':
        this.#failed.add(event.host);
        break;
      case 'stopping':
        this.stopping = true;
        break;
      case 'run-failed':
      case 'run-finished':
        this.#end();
        break;
    }
  }

  #end(): void {
    this.#phase = 'quiet';
    this.lock = undefined;
    this.#awaited.clear();
  }

  /** A task of a host is done. */
  #count(host: string, hasFailed: boolean): void {
    const left = this.#left.get(host);
    if (left !== undefined) this.#left.set(host, left - 1);
    if (hasFailed) this.#failed.add(host);
  }

  get phase(): 'looking' | 'waiting' | 'quiet' | 'changing' {
    if (this.lock) return 'waiting';
    return this.#awaited.size > 0 ? 'looking' : this.#phase;
  }

  counts(): HostCounts {
    const failed = this.#failed;
    return {
      hosts: this.hosts.length,
      done: [...this.#left].filter(([host, left]) => left <= 0 && !failed.has(host)).length,
      failed: failed.size,
      unreachable: this.#unreachable.size,
      awaited: [...this.#awaited],
    };
  }
}
