import { setTimeout as sleep } from 'node:timers/promises';
import { docker, lastLines, quietly } from './docker.mjs';
import { removeContainers } from './hosts.mjs';
import { imageOf, served, standInInputs } from './images.mjs';
import { LabError } from './lab-error.mjs';
import { inputsLabel, label, network, outside, packageCacheVolume, projectRoot } from './layout.mjs';
import { answers } from './reach.mjs';

/** Starts "everything outside" again, from the current images; its registry is empty. */
export async function createOutside() {
  await removeContainers([outside.container]);
  await quietly`docker volume create --label ${label}=${projectRoot} ${packageCacheVolume}`;
  const place = [
    '--name',
    outside.container,
    '--hostname',
    'outside',
    '--network',
    network.name,
    '--ip',
    outside.address,
  ];
  const labels = ['--label', `${label}=${projectRoot}`, '--label', `${inputsLabel}=${await standInInputs()}`];
  const cache = ['--volume', `${packageCacheVolume}:/var/cache/apt-cacher-ng`];
  // An engine pushes without TLS only to its own 127.0.0.1.
  const registry = ['--publish', `127.0.0.1::${outside.ports.registry}`];
  await docker(['run', '--detach', ...place, ...labels, ...cache, ...registry, imageOf('outside')]);
}

/**
 * Pushes the stand-ins' images to the lab's registry unless they are there.
 *
 * @param {import('./script.mjs').Log} log
 */
export async function fillRegistry(log) {
  const missing = [];
  for (const image of served) if (!(await isServed(image.reference))) missing.push(image);
  if (missing.length === 0) return;
  const address = (await docker(['port', outside.container, `${outside.ports.registry}/tcp`])).split('\n')[0];
  for (const { target, reference } of missing) {
    const pushed = `${address}/${reference}`;
    await docker(['tag', imageOf(target), pushed]);
    const push = await quietly`docker push --quiet ${pushed}`;
    await quietly`docker image rm ${pushed}`;
    if (!push.ok) throw new LabError(`The lab's registry refuses ${reference}: ${lastLines(push.stderr)}`);
  }
  log(`lab: registry serves ${served.map((image) => image.reference).join(', ')}`);
}

/** Waits until everything outside answers. */
export async function waitForOutside(seconds = 90) {
  for (const end = Date.now() + seconds * 1000; ; await sleep(250)) {
    const silent = await silentServices();
    if (silent.length === 0) return;
    if (Date.now() < end) continue;
    const output = await quietly`docker logs --tail 10 ${outside.container}`;
    throw new LabError(
      `"Everything outside" (${outside.address}) does not answer on ${silent.join(', ')}:\n  ${lastLines(output.stdall, 10)}`,
      `The engine's networks must be reachable from this machine, as on Linux; see "docker logs ${outside.container}".`,
    );
  }
}

/** @returns {Promise<string[]>} the services outside that do not answer, as `NAME (PORT)` */
export async function silentServices() {
  const ports = Object.entries(outside.ports);
  const answered = await Promise.all(ports.map(([, port]) => answers(outside.address, port)));
  return ports.filter((_, index) => !answered[index]).map(([name, port]) => `${name} (${port})`);
}

/** Starts the services again: a test that was interrupted may have stopped one of them. */
export async function restartOutside() {
  await docker(['restart', '--time', '5', outside.container]);
}

/**
 * Checksums and date of the served files for the lab's inventory. Files of the older generation
 * are in `older/`, and genesis_older.json.
 *
 * @returns {Promise<{ genesis_sha256: string, state_sha256: string, prover_sha256: string, date:
 * string,
 *   older: { genesis_sha256: string, state_sha256: string } }>}
 */
export async function checksums() {
  return JSON.parse(await docker(['exec', outside.container, 'cat', '/srv/www/checksums.json']));
}

/** @param {string} reference */
async function isServed(reference) {
  const [name, tag] = reference.split(':');
  const manifest = `http://${outside.address}:${outside.ports.registry}/v2/${name}/manifests/${tag}`;
  const headers = { accept: 'application/vnd.docker.distribution.manifest.v2+json' };
  const response = await fetch(manifest, { method: 'HEAD', headers }).catch(() => undefined);
  return response?.ok ?? false;
}
