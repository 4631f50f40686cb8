// Takes the lab down and removes everything of it.
import { existsSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { removeDisks } from './disks.mjs';
import { labContainers, quietly, refuseLabOfOtherProject } from './docker.mjs';
import { engineFiles, ensureEngine, stopOwnEngine } from './engine.mjs';
import { removeContainers } from './hosts.mjs';
import { removeImages } from './images.mjs';
import { identityFile } from './keys.mjs';
import { LabError } from './lab-error.mjs';
import { packageCacheVolume, stateDirectory } from './layout.mjs';
import { withLock } from './lock.mjs';
import { removeNetwork } from './network.mjs';
import { print, runAsScript } from './script.mjs';

/**
 * Removes what the lab created, and nothing else: containers, disks, network, keys and generated
 * values, images.
 *
 * @param {{ log?: import('./script.mjs').Log, keepImages?: boolean }} [options] `keepImages`
 * leaves images and the
 *   package cache, so that the next lab starts fast
 * @throws {LabError} where the lab is of another copy of the project
 */
export async function labDown({ log = print, keepImages = false } = {}) {
  const wasUp = existsSync(identityFile);
  const engineStays = await withLock(log, async () => {
    // The lab outlasts the engine: only a running engine can remove the rest of it.
    if (wasUp) await ensureEngine(log);
    await refuseLabOfOtherProject();
    const containers = await labContainers();
    if (containers === undefined) {
      log('lab: no Docker engine answers and the lab was not up: nothing to remove');
      return false;
    }
    await removeContainers(containers.map((container) => container.name));
    await removeDisks();
    await removeNetwork(log);
    if (keepImages) return true;
    await quietly`docker volume rm ${packageCacheVolume}`;
    await removeImages(log);
    return await stopOwnEngine(log);
  });
  await removeState(engineStays ? engineFiles : []);
  log(keepImages ? 'lab: down; its images are kept' : 'lab: down');
}

/** @param {readonly string[]} kept */
async function removeState(kept) {
  const entries = await readdir(stateDirectory).catch(() => []);
  for (const entry of entries.filter((name) => !kept.includes(name))) {
    await rm(join(stateDirectory, entry), { recursive: true });
  }
  if (entries.every((name) => !kept.includes(name))) await rmdir(stateDirectory).catch(() => {});
}

await runAsScript(import.meta.url, async (words) => {
  await labDown({ keepImages: options(words)['keep-images'] ?? false });
});

/** @param {string[]} words */
function options(words) {
  try {
    return parseArgs({ args: words, options: { 'keep-images': { type: 'boolean' } } }).values;
  } catch (error) {
    throw new LabError(
      error instanceof Error ? error.message : String(error),
      'Usage: npm run lab:down [-- --keep-images]',
    );
  }
}
