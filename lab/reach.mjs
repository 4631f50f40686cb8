import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines, quietly } from './docker.mjs';
import { LabError } from './lab-error.mjs';

/**
 * Whether a TCP port accepts connections.
 *
 * @param {string} address
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function answers(address, port, milliseconds = 1000) {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: milliseconds });
    /** @param {boolean} answer */
    const end = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/**
 * Waits until a host has booted and its SSH server answers.
 *
 * @param {import('./layout.mjs').LabHost} host
 */
export async function waitForHost(host, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; ; await sleep(100)) {
    if (await answers(host.address, 22)) return;
    if (Date.now() < end) continue;
    const state =
      await quietly`timeout 5 docker exec ${host.container} sh -c 'systemctl is-system-running; systemctl --no-legend --failed; systemctl status --no-pager --lines 5 ssh'`;
    throw new LabError(
      `${host.name} (${host.address}) does not answer on port 22; its systemd reports:\n  ${lastLines(state.stdall, 20)}`,
      `To create it again: npx zx lab/reset.mjs ${host.name}. The engine's networks must be reachable from this machine, as on Linux.`,
    );
  }
}
