import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stateDirectory } from './layout.mjs';

const lockFile = join(stateDirectory, 'lock');

/**
 * Runs `work` while no other process changes the lab; waits for one that does. The lock of an
 * ended process is taken over.
 *
 * @template T
 * @param {import('./script.mjs').Log} log
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(log, work) {
  await mkdir(stateDirectory, { recursive: true });
  for (let reported = false; !(await take()); await sleep(200)) {
    const holder = Number(await readFile(lockFile, 'utf8').catch(() => ''));
    if (holder > 0 && !isAlive(holder)) await rm(lockFile, { force: true });
    else if (!reported) log(`lab: waiting for process ${holder}, which changes the lab`);
    reported = true;
  }
  try {
    return await work();
  } finally {
    await rm(lockFile, { force: true });
  }
}

async function take() {
  try {
    const file = await open(lockFile, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
