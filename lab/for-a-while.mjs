import { existsSync } from 'node:fs';
import { noteForAWhile } from './abandoned.mjs';
import { labContainers } from './docker.mjs';
import { labDown } from './down.mjs';
import { identityFile } from './keys.mjs';
import { projectRoot } from './layout.mjs';

/**
 * Runs work that starts the lab, and takes the lab down after it. A lab that was there before
 * stays, also a stopped one.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @param {{ exists: () => Promise<boolean>, note: () => Promise<() => Promise<void>>, down: () => Promise<void> }} [lab]
 * default: the lab of this machine; its images are kept
 * @returns {Promise<T>} the result of the work
 */
export async function withLabForAWhile(
  work,
  { exists, note, down } = {
    exists: labExists,
    note: noteForAWhile,
    down: () => labDown({ keepImages: true }),
  },
) {
  const stays = await exists();
  const end = stays ? undefined : await note();
  try {
    return await work();
  } finally {
    if (end && (await exists())) await down();
    await end?.();
  }
}

async function labExists() {
  const containers = (await labContainers()) ?? [];
  return existsSync(identityFile) || containers.some(({ project }) => project === projectRoot);
}
