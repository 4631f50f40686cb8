import { existsSync } from 'node:fs';
import { labContainers } from './docker.mjs';
import { labDown } from './down.mjs';
import { identityFile } from './keys.mjs';

/**
 * Runs work that starts the lab, and takes the lab down after it. A lab that was there before
 * stays, also a stopped one.
 *
 * @template T
 * @param {() => Promise<T>} work
 * @param {{ exists?: () => Promise<boolean>, down?: () => Promise<void> }} [lab] default: the lab
 * of this machine; its images are kept
 * @returns {Promise<T>} the result of the work
 */
export async function withLabForAWhile(
  work,
  { exists = labExists, down = () => labDown({ keepImages: true }) } = {},
) {
  const stays = await exists();
  try {
    return await work();
  } finally {
    if (!stays && (await exists())) await down();
  }
}

async function labExists() {
  return existsSync(identityFile) || ((await labContainers()) ?? []).length > 0;
}
