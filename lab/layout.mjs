// Names and addresses of the lab, defined only here.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LabError } from './lab-error.mjs';

/**
 * Root of the project; the lab's own files (keys, passwords, generated values) are in `.lab` below
 * it.
 */
export const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)));
export const labDirectory = join(projectRoot, 'lab');
export const stateDirectory = join(projectRoot, '.lab');

/**
 * Containers, networks and volumes of the lab have this label; its value is the project directory
 * that they belong to.
 */
export const label = 'rpc-playbooks.lab';
/**
 * Images have another one: a container inherits its image's labels, and not every container of our
 * images is the lab's.
 */
export const imageLabel = 'rpc-playbooks.lab-image';
/** The hash of an image's inputs; on a container, that of its image. */
export const inputsLabel = 'rpc-playbooks.inputs';

/** Automatic addresses come from `spare`, so that none of the lab's own is used. */
export const network = {
  name: 'rpc-lab',
  subnet: '172.30.77.0/24',
  gateway: '172.30.77.1',
  spare: '172.30.77.128/25',
};
export const diskVolume = 'rpc-lab-disks';
export const packageCacheVolume = 'rpc-lab-apt-cache';

/** "Everything outside", and the TCP ports that must answer before the lab counts as up. */
export const outside = {
  container: 'rpc-lab-outside',
  address: '172.30.77.10',
  ports: { registry: 5000, http: 8080, alerts: 8081, sequencer: 8545, layer1: 8546, packageCache: 3142 },
};

/**
 * @typedef {object} LabHost
 * @property {string} name as in inventory/lab.yaml
 * @property {string} container
 * @property {string} address
 * @property {string} user the login user; anybody but root becomes root with sudo, without a
 * password
 */

/** @type {readonly LabHost[]} Both ways to become root occur: login as root, and sudo. */
export const hosts = [
  { name: 'db-1', container: 'rpc-lab-db-1', address: '172.30.77.11', user: 'root' },
  { name: 'rpc-1', container: 'rpc-lab-rpc-1', address: '172.30.77.12', user: 'root' },
  { name: 'rpc-2', container: 'rpc-lab-rpc-2', address: '172.30.77.13', user: 'operator' },
];

/**
 * @type {readonly LabHost[]} The further hosts of inventory/lab-fleet.yaml, which only the larger
 * lab has.
 */
const furtherHosts = [
  { name: 'rpc-3', container: 'rpc-lab-rpc-3', address: '172.30.77.14', user: 'root' },
  { name: 'rpc-4', container: 'rpc-lab-rpc-4', address: '172.30.77.15', user: 'root' },
  { name: 'gw-1', container: 'rpc-lab-gw-1', address: '172.30.77.21', user: 'root' },
  { name: 'gw-2', container: 'rpc-lab-gw-2', address: '172.30.77.22', user: 'operator' },
];
export const fleetHosts = [...hosts, ...furtherHosts];

/**
 * @param {string} name
 * @throws {LabError} when the lab has no such host
 */
export function hostNamed(name) {
  const host = fleetHosts.find((one) => one.name === name);
  if (host !== undefined) return host;
  throw new LabError(
    `The lab has no host "${name}"`,
    `Its hosts: ${fleetHosts.map((one) => one.name).join(', ')}`,
  );
}

/** Disks of every host: sparse files, so that only written data takes space. */
export const disks = [
  { name: 'data', mountPoint: '/data', size: '16G' },
  { name: 'docker', mountPoint: '/var/lib/docker', size: '8G' },
];
