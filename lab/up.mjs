// Brings the lab up: three servers to deploy to (with --fleet seven), and all external services of
// a deployment.
import { existsSync } from 'node:fs';
import { attachDisks, ensureDiskVolume } from './disks.mjs';
import { labContainers, refuseLabOfOtherProject } from './docker.mjs';
import { ensureEngine } from './engine.mjs';
import { createHosts, startContainers } from './hosts.mjs';
import { ensureBaseImage, ensureHostImage, ensureStandInImages, standInInputs } from './images.mjs';
import { ensureClientKey, identityFile, knownHosts } from './keys.mjs';
import { fleetHosts, outside, projectRoot, hosts as smallLab } from './layout.mjs';
import { withLock } from './lock.mjs';
import { ensureNetwork } from './network.mjs';
import {
  checksums,
  createOutside,
  fillRegistry,
  restartOutside,
  silentServices,
  waitForOutside,
} from './outside.mjs';
import { answers, waitForHost } from './reach.mjs';
import { print, runAsScript } from './script.mjs';
import { ensureSecrets, inventoryFiles, removeValues, writeValues } from './values.mjs';

const standIns =
  'lab: stand-ins for: node and prover programs, trusted sequencer, layer 1, genesis, snapshots; the rest is real';

/**
 * Brings the lab up, or its missing parts: after a restart of the machine or of the Docker engine
 * it is as before. Existing hosts stay as they are. Returns at once when the lab is up.
 *
 * @param {{ log?: import('./script.mjs').Log, fleet?: boolean }} [options] `log` gets a plain line
 * for each step; `fleet`: with the
 *   further hosts of inventory/lab-fleet.yaml
 * @throws {LabError} with the obstacle, and what to do about it
 */
export async function labUp({ log = print, fleet = false } = {}) {
  await bringUp(fleet ? fleetHosts : smallLab, log);
}

/**
 * Brings up what is outside the hosts. The lab's hosts stay as they are, also missing, stopped and
 * paused ones.
 *
 * @param {import('./script.mjs').Log} log
 * @throws {LabError} with the obstacle, and what to do about it
 */
export async function outsideOfHostsUp(log) {
  await bringUp([], log);
}

/**
 * @param {readonly import('./layout.mjs').LabHost[]} hosts
 * @param {import('./script.mjs').Log} log
 */
async function bringUp(hosts, log) {
  if (await isUp(hosts)) {
    log('lab: up');
    log(standIns);
    return;
  }
  const started = Date.now();
  await withLock(log, async () => {
    await ensureEngine(log);
    await refuseLabOfOtherProject();
    await ensureBaseImage(log);
    await ensureNetwork();
    await ensureDiskVolume();
    await ensureSecrets();
    const results = await Promise.allSettled([hostsUp(hosts, log), outsideUp(log)]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  });
  log(`lab: up after ${Math.round((Date.now() - started) / 1000)} s; "npm run lab:ssh db-1" enters a host`);
  log(standIns);
}

/**
 * Whether all of the lab runs, answers and is built from the current project.
 *
 * @param {readonly import('./layout.mjs').LabHost[]} hosts
 */
async function isUp(hosts) {
  if (![identityFile, ...inventoryFiles].every((file) => existsSync(file))) return false;
  const [containers = [], known, inputs, silent, ...answered] = await Promise.all([
    labContainers(),
    knownHosts(),
    standInInputs(),
    silentServices(),
    ...hosts.map((host) => answers(host.address, 22)),
  ]);
  const running = containers.filter((container) => container.running && container.project === projectRoot);
  return (
    hosts.every((host) => known.has(host.address) && running.some(({ name }) => name === host.container)) &&
    running.some((container) => container.name === outside.container && container.inputs === inputs) &&
    silent.length === 0 &&
    !answered.includes(false)
  );
}

/**
 * @param {readonly import('./layout.mjs').LabHost[]} hosts
 * @param {import('./script.mjs').Log} log
 */
async function hostsUp(hosts, log) {
  await ensureHostImage(log);
  const containers = (await labContainers()) ?? [];
  const known = existsSync(identityFile) ? await knownHosts() : new Map();
  const clientKey = await ensureClientKey();
  const isThere = (/** @type {import('./layout.mjs').LabHost} */ host) =>
    known.has(host.address) &&
    containers.some(({ name, project }) => name === host.container && project === projectRoot);
  const missing = hosts.filter((host) => !isThere(host));
  const stopped = hosts
    .filter(isThere)
    .filter(({ container }) => !containers.some((one) => one.name === container && one.running));
  if (stopped.length > 0) {
    await attachDisks();
    await startContainers(stopped.map((host) => host.container));
    log(`lab: started ${stopped.map((host) => host.name).join(', ')}`);
  }
  if (missing.length > 0) await createHosts(missing, clientKey);
  await Promise.all(hosts.map((host) => waitForHost(host)));
  if (missing.length > 0)
    log(`lab: bare hosts ${missing.map((host) => `${host.name} ${host.address}`).join(', ')}`);
}

/** @param {import('./script.mjs').Log} log */
async function outsideUp(log) {
  await ensureStandInImages(log);
  const inputs = await standInInputs();
  const container = (await labContainers())?.find(({ name }) => name === outside.container);
  if (container?.inputs !== inputs || container.project !== projectRoot) {
    await removeValues();
    await createOutside();
  } else if (!container.running) await startContainers([outside.container]);
  else if ((await silentServices()).length > 0) await restartOutside();
  await waitForOutside();
  await fillRegistry(log);
  // Written last: without it, the lab does not count as up.
  await writeValues(await checksums());
}

await runAsScript(import.meta.url, (words) => labUp({ fleet: words.includes('--fleet') }));
