import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * All processes that one program started, also detached ones: their resource use, and a way to end
 * them.
 */
export interface Cgroup {
  readonly path: string;
  /** Processor seconds so far, user and system, including ended processes. */
  seconds(): number;
  processes(): number[];
  /** Kills the remaining processes, and removes the group. */
  end(): Promise<void>;
}

/** Parent of all our groups. */
const ours = 'rpc-playbooks-bench';

/**
 * @throws Error without a control group hierarchy of version 2
 */
function topOfOurs(): string {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, hierarchy] = mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2') ?? [];
  if (hierarchy === undefined)
    throw new Error('the benchmark needs a cgroup2 hierarchy, and none is mounted');
  return join(hierarchy, ours);
}

export function cgroupFor(name: string): Cgroup {
  const path = join(topOfOurs(), name);
  mkdirSync(path, { recursive: true });
  const processes = () =>
    readFileSync(join(path, 'cgroup.procs'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
  return {
    path,
    processes,
    seconds: () => Number(/usage_usec (\d+)/.exec(readFileSync(join(path, 'cpu.stat'), 'utf8'))?.[1]) / 1e6,
    async end() {
      writeFileSync(join(path, 'cgroup.kill'), '1');
      // A killed process keeps the group for a moment, although it is no longer listed.
      while (processes().length > 0 || !remove(path)) await delay(5);
    },
  };
}

/**
 * @returns false while it is in use
 */
function remove(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw error;
  }
}

/** Removes the groups of earlier benchmarks. */
export function removeEmptyCgroups(path = topOfOurs()): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeEmptyCgroups(join(path, entry.name));
    rmdirSync(path);
  } catch {
    // It does not exist, or is in use.
  }
}

/** Whether another benchmark is running. */
export function anyRuns(): boolean {
  const events = join(topOfOurs(), 'cgroup.events');
  return existsSync(events) && readFileSync(events, 'utf8').includes('populated 1');
}
