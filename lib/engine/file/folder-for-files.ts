import { resolve } from 'node:path';
import { Problem } from '../problem/problem.ts';

/**
 * Refuses a folder of the system before it is made: Node's recursive mkdir never ends in /proc.
 *
 * @throws Problem
 */
export function refuseSystemFolder(path: string): void {
  if (/^\/(proc|sys|dev(?!\/shm\/))(\/|$)/.test(resolve(path)))
    throw new Problem(`${path} is in /proc, /sys or /dev, which keep no files`, {
      hint: 'name another folder',
    });
}
