import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeDisks } from './disks.mjs';
import { docker, labContainers, lastLines, quietly } from './docker.mjs';
import { hostInputs, imageOf } from './images.mjs';
import { knownHosts, newKeyPair, writeKnownHosts } from './keys.mjs';
import { LabError } from './lab-error.mjs';
import { disks, inputsLabel, label, network, projectRoot } from './layout.mjs';

/** @typedef {import('./layout.mjs').LabHost} LabHost */

// A machine of its own inside: systemd, mounts, a Docker engine. Not --privileged: that demands
// more than an engine may give that is confined itself (CAP_SYS_RESOURCE).
const capabilities = [
  ...[
    'SYS_ADMIN',
    'NET_ADMIN',
    'SYS_PTRACE',
    'SYS_CHROOT',
    'MKNOD',
    'NET_RAW',
    'SYS_MODULE',
    'SYSLOG',
    'SYS_NICE',
  ],
  ...['DAC_READ_SEARCH', 'LINUX_IMMUTABLE', 'IPC_LOCK', 'AUDIT_CONTROL', 'MAC_ADMIN'],
].flatMap((name) => ['--cap-add', name]);
const confinement = ['seccomp=unconfined', 'apparmor=unconfined', 'systempaths=unconfined'].flatMap(
  (option) => ['--security-opt', option],
);
const machine = ['--cgroupns', 'private', '--tmpfs', '/run:exec', '--tmpfs', '/run/lock'];
const loopDevices = ['--device-cgroup-rule', 'b 7:* rmw'];

/**
 * Makes hosts bare: a new container, new empty disks, a new host key. Earlier ones of the same
 * names are removed.
 *
 * @param {readonly LabHost[]} wanted
 * @param {string} clientKey public key that may log in
 * @param {string} [image] of the hosts
 */
export async function createHosts(wanted, clientKey, image = imageOf('host')) {
  await removeContainers(wanted.map((host) => host.container));
  const plans = wanted.map((host) => ({
    host,
    drives: disks.map((disk) => ({ ...disk, uuid: randomUUID() })),
  }));
  await makeDisks(plans.map(({ host, drives }) => ({ host: host.name, drives })));
  const inputs = await hostInputs();
  const made = await Promise.all(
    plans.map(async ({ host, drives }) => {
      const key = newKeyPair(host.name);
      const labels = ['--label', `${label}=${projectRoot}`, '--label', `${inputsLabel}=${inputs}`];
      const place = [
        '--name',
        host.container,
        '--hostname',
        host.name,
        '--network',
        network.name,
        '--ip',
        host.address,
      ];
      const options = [...place, ...labels, ...capabilities, ...confinement, ...machine, ...loopDevices];
      await docker(['create', ...options, image]);
      await putFiles(host.container, [
        { path: 'etc/ssh/ssh_host_ed25519_key', content: key.private, mode: 0o600 },
        { path: 'etc/ssh/ssh_host_ed25519_key.pub', content: `${key.public}\n`, mode: 0o644 },
        { path: 'etc/fstab', content: drives.map(fstabLine).join(''), mode: 0o644 },
      ]);
      await docker(['start', host.container]);
      await letIn(host, clientKey);
      return { address: host.address, key: key.public.split(' ').slice(0, 2).join(' ') };
    }),
  );
  // Written last: a host that is not listed here is incomplete, and is created again.
  const keys = new Map(await knownHosts());
  for (const { address, key } of made) keys.set(address, key);
  await writeKnownHosts(keys);
}

/** @param {readonly string[]} containers that do not run: stopped, or paused */
export async function startContainers(containers) {
  if (containers.length === 0) return;
  // A paused container refuses to start.
  await quietly`docker unpause ${containers}`;
  await docker(['start', ...containers]);
}

/**
 * Removes containers; missing ones count as removed.
 *
 * @param {readonly string[]} containers
 */
export async function removeContainers(containers) {
  if (containers.length === 0) return;
  const removal = await quietly`docker rm --force --volumes ${containers}`;
  const left = (await labContainers())?.filter(({ name }) => containers.includes(name)) ?? [];
  if (left.length === 0) return;
  throw new LabError(
    `The Docker engine does not remove ${left.map(({ name }) => name).join(', ')}: ${lastLines(removal.stderr)}`,
    'A disk that is still being written can delay it: run this again in a minute.',
  );
}

/** @param {{ uuid: string, mountPoint: string }} drive */
function fstabLine({ uuid, mountPoint }) {
  return `UUID=${uuid} ${mountPoint} ext4 defaults 0 2\n`;
}

/**
 * Lets the user of the host log in with the key, and gives it sudo unless it is root.
 *
 * @param {LabHost} host
 * @param {string} clientKey
 */
async function letIn({ container, user }, clientKey) {
  const script = `
    set -eu
    if [ "$1" != root ]; then
      getent group "$1" > /dev/null || groupadd "$1"
      useradd --create-home --shell /bin/bash --gid "$1" "$1"
      echo "$1 ALL=(ALL) NOPASSWD: ALL" > "/etc/sudoers.d/$1"
      chmod 0440 "/etc/sudoers.d/$1"
    fi
    home=$(getent passwd "$1" | cut -d: -f6)
    install -d -m 0700 -o "$1" -g "$1" "$home/.ssh"
    cat > "$home/.ssh/authorized_keys"
    chown "$1:$1" "$home/.ssh/authorized_keys"
    chmod 0600 "$home/.ssh/authorized_keys"`;
  await docker(['exec', '--interactive', container, 'sh', '-c', script, 'sh', user], {
    input: `${clientKey}\n`,
  });
}

/**
 * Copies files into a container that may not run yet.
 *
 * @param {string} container
 * @param {readonly { path: string, content: string, mode: number }[]} files
 */
async function putFiles(container, files) {
  const directory = await mkdtemp(join(tmpdir(), 'rpc-lab-files-'));
  try {
    for (const { path, content, mode } of files) {
      await mkdir(dirname(join(directory, path)), { recursive: true, mode: 0o755 });
      await writeFile(join(directory, path), content, { mode });
      await docker(['cp', join(directory, path), `${container}:/${path}`]);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}
