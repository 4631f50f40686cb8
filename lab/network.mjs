import { readFile } from 'node:fs/promises';
import { lastLines, quietly } from './docker.mjs';
import { LabError } from './lab-error.mjs';
import { label, network, projectRoot } from './layout.mjs';

/** Creates the lab's network unless it exists. */
export async function ensureNetwork() {
  if ((await quietly`docker network inspect ${network.name}`).ok) return;
  const options = ['--subnet', network.subnet, '--ip-range', network.spare, '--gateway', network.gateway];
  options.push('--label', `${label}=${projectRoot}`);
  // A bridge does not learn the MTU of the default route: too large a packet would be lost on a
  // machine with less than 1500.
  options.push('--opt', `com.docker.network.driver.mtu=${await defaultRouteMtu()}`);
  const made = await quietly`docker network create ${options} ${network.name}`;
  if (made.ok) return;
  throw new LabError(
    `The lab's network ${network.subnet} cannot be made: ${lastLines(made.stderr, 1)}`,
    'If another Docker network has these addresses, remove it ("docker network ls") and run this again.',
  );
}

/** @param {import('./script.mjs').Log} log */
export async function removeNetwork(log) {
  const removal = await quietly`docker network rm ${network.name}`;
  const stays = !removal.ok && (await quietly`docker network inspect ${network.name}`).ok;
  if (stays) log(`lab: its network is kept: ${lastLines(removal.stderr, 1)}`);
}

/** MTU of the interface of the default route; 1500, Ethernet's, if it cannot be read. */
async function defaultRouteMtu() {
  const table = await readFile('/proc/net/route', 'utf8').catch(() => '');
  const route = table.split('\n').find((line) => line.split('\t')[1] === '00000000');
  const device = route?.split('\t')[0];
  const mtu = await readFile(`/sys/class/net/${device}/mtu`, 'utf8').catch(() => '');
  return Number(mtu) || 1500;
}
