import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stateDirectory } from './layout.mjs';

/** Below the state directory. A process holds its lock until it takes the lab down, or ends. */
const fileName = 'for-a-while';

/**
 * Notes that this process takes the lab of this project down at its end.
 *
 * @param {string} [stateOfLab] the `.lab` directory of the project
 * @returns {Promise<() => Promise<void>>} ends that, where the lab is down or was never up
 */
export async function noteForAWhile(stateOfLab = stateDirectory) {
  await mkdir(stateOfLab, { recursive: true });
  const held = ['sh', '-c', 'echo held; exec cat'];
  const holder = spawn('flock', [join(stateOfLab, fileName), ...held], { stdio: ['pipe', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  // The holder ends with this process, however this process ends: then its input is closed.
  holder.unref();
  const sockets = /** @type {import('node:net').Socket[]} */ ([holder.stdin, holder.stdout]);
  for (const socket of sockets) socket.unref();
  return async () => {
    if (holder.exitCode !== null || holder.signalCode !== null) return;
    holder.ref();
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
  };
}

/**
 * Whether a lab is left over: a process started it for a while and ended without taking it down,
 * such as a test run that was killed. The kernel knows it of processes in other namespaces, too.
 *
 * @param {string} stateOfLab the `.lab` directory of the lab's project
 * @returns {boolean} false for a lab that somebody keeps
 */
export function isAbandoned(stateOfLab) {
  const file = join(stateOfLab, fileName);
  return existsSync(file) && spawnSync('flock', ['--nonblock', file, 'true']).status === 0;
}
