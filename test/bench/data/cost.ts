import { readFileSync, statfsSync } from 'node:fs';
import { type Cgroup, cgroupFor } from '../cgroup.ts';

/** What a way took. */
export interface Cost {
  readonly seconds: number;
  /** Of all its processes. */
  readonly processorSeconds: number;
  /** The most that its processes and its file system in memory had at one time. Bytes. */
  readonly memory: number;
}

/**
 * Measures work whose processes go into a control group.
 *
 * @param work gets a line of shell that puts the shell into the group
 * @param inMemory a file system in memory that belongs to the work
 */
export async function costOf(work: (enter: string) => Promise<unknown>, inMemory?: string): Promise<Cost> {
  const group = cgroupFor('data');
  let memory = 0;
  const timer = setInterval(() => {
    memory = Math.max(memory, memoryOf(group) + (inMemory ? heldIn(inMemory) : 0));
  }, 500);
  const began = performance.now();
  try {
    await work(`echo $$ >${group.path}/cgroup.procs\n`);
    const seconds = (performance.now() - began) / 1000;
    return { seconds, processorSeconds: group.seconds(), memory };
  } finally {
    clearInterval(timer);
    await group.end();
  }
}

/** Memory of the processes, in which shared pages count by their part. Bytes. */
function memoryOf(group: Cgroup): number {
  let sum = 0;
  for (const pid of group.processes()) {
    try {
      const map = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      sum += Number(/^Pss: +(\d+) kB$/m.exec(map)?.[1] ?? 0) * 1024;
    } catch {
      // It has ended.
    }
  }
  return sum;
}

/** Bytes in a file system in memory; 0 where the folder is on a disk. */
function heldIn(folder: string): number {
  const temporary = 0x01021994;
  try {
    const { type, blocks, bfree, bsize } = statfsSync(folder);
    return type === temporary ? (blocks - bfree) * bsize : 0;
  } catch {
    return 0;
  }
}
