import { mkdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stateDirectory } from './layout.mjs';

/** Below the state directory: which process takes the lab down at its end. */
const fileName = 'for-a-while';

/**
 * Notes that this process takes the lab of this project down at its end.
 *
 * @param {string} [stateOfLab] the `.lab` directory of the project
 */
export async function noteForAWhile(stateOfLab = stateDirectory) {
  await mkdir(stateOfLab, { recursive: true });
  const owner = { pid: process.pid, start: await startOf(process.pid), ...(await machine()) };
  await writeFile(join(stateOfLab, fileName), JSON.stringify(owner));
}

/**
 * Whether a lab is left over: a process started it for a while and ended without taking it down,
 * such as a test run that was killed.
 *
 * @param {string} stateOfLab the `.lab` directory of the lab's project
 * @returns {Promise<boolean>} false for a lab that somebody keeps, and where the process cannot be
 * seen from here
 */
export async function isAbandoned(stateOfLab) {
  const note = await readFile(join(stateOfLab, fileName), 'utf8').catch(() => undefined);
  if (note === undefined) return false;
  const { pid, start, boot, namespace } = JSON.parse(note);
  const here = await machine();
  if (boot !== here.boot) return true;
  return namespace === here.namespace && start !== (await startOf(pid));
}

/** The start of this machine, and the processes that can be seen. */
async function machine() {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readlink('/proc/self/ns/pid'),
  ]);
  return { boot: boot.trim(), namespace };
}

/**
 * Tells a process from a later one of the same number: field 22 of proc(5) stat. The second field,
 * a name in parentheses, may contain spaces.
 *
 * @param {number} pid
 * @returns {Promise<string | undefined>} undefined where no such process runs
 */
async function startOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat?.split(') ').at(-1)?.split(' ')[19];
}
