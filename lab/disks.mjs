import { docker, lastLines, quietly } from './docker.mjs';
import { imageOf } from './images.mjs';
import { LabError } from './lab-error.mjs';
import { diskVolume, hostNamed, label, projectRoot } from './layout.mjs';

// Disks are sparse files in a volume, attached as loop devices from a short-lived container: this
// works the same way for every machine and user with a Docker engine, and needs nothing on the
// machine itself.
const shell = [
  ...['--cap-add', 'SYS_ADMIN', '--cap-add', 'MKNOD'],
  ...['--device-cgroup-rule', 'b 7:* rmw', '--device-cgroup-rule', 'c 10:237 rmw'],
  ...['--security-opt', 'apparmor=unconfined', '--security-opt', 'seccomp=unconfined'],
  ...['--volume', '/dev:/dev', '--volume', `${diskVolume}:/disks`, '--network', 'none'],
];

/**
 * Start of each script: works in /disks, on names relative to it. An attached file is not attached
 * twice.
 */
const functions = `
set -eu
cd /disks
device() { losetup --noheadings --output NAME --associated "/disks/$1"; }
attach() { [ -n "$(device "$1")" ] || losetup --find "/disks/$1"; }
detach() { for d in $(device "$1"); do losetup --detach "$d"; done; }
remove() { for f in "$1"*.img; do if [ -e "$f" ]; then detach "$f"; rm -f "$f"; fi; done; }
`;

/**
 * @typedef {object} Disk
 * @property {string} name
 * @property {string} size
 * @property {string} uuid of the ext4 file system on it
 */

export async function ensureDiskVolume() {
  await quietly`docker volume create --label ${label}=${projectRoot} ${diskVolume}`;
}

/**
 * Creates the disks of hosts again, empty, each with one ext4 file system, and attaches them.
 * The earlier data of a host's disks is lost: its container must have been removed before.
 *
 * @param {readonly { host: string, drives: readonly Disk[] }[]} wanted
 */
export async function makeDisks(wanted) {
  // The kernel writes the rest of the file system later, when it is idle.
  const mkfs = 'mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1,lazy_journal_init=1';
  const steps = wanted.flatMap(({ host, drives }) => [
    `remove ${host}-`,
    ...drives.map(({ name, size, uuid }) => {
      const file = `${host}-${name}.img`;
      return `truncate -s ${size} ${file}; ${mkfs} -U ${uuid} ${file}; attach ${file}`;
    }),
  ]);
  await run(steps.join('\n'), 'The disks of the lab cannot be made');
}

/**
 * Gives a running host one more disk, blank, without a file system. It is removed when the host is
 * created again.
 *
 * @param {string} host its name
 * @param {string} name of the disk
 * @param {string} size as truncate takes it, `2G`
 * @returns {Promise<string>} its device, the same in the host: `/dev/loop9`
 */
export async function addBlankDisk(host, name, size) {
  const { container } = hostNamed(host);
  const file = `${host}-${name}.img`;
  const steps = `truncate -s ${size} ${file}; attach ${file}; device ${file}`;
  const device = (await run(steps, `The disk ${name} of ${host} cannot be made`)).trim();
  const node = ['mknod', '-m', '0660', device, 'b', '7', device.replace('/dev/loop', '')];
  await docker(['exec', container, 'sh', '-c', '[ -b "$4" ] || "$@"', 'sh', ...node]);
  return device;
}

/** Attaches the disks that a restart of the machine has detached. */
export async function attachDisks() {
  await run(
    'for f in *.img; do if [ -e "$f" ]; then attach "$f"; fi; done',
    'The disks of the lab cannot be attached',
  );
}

/** Detaches all disks and removes them with what is on them. */
export async function removeDisks() {
  if (!(await quietly`docker volume inspect ${diskVolume}`).ok) return;
  await run("remove ''", 'The disks of the lab cannot be removed');
  await quietly`docker volume rm ${diskVolume}`;
}

/**
 * @param {string} script
 * @param {string} failure
 * @returns {Promise<string>} what the script printed
 */
async function run(script, failure) {
  const container = ['--rm', '--interactive', ...shell, '--entrypoint', '/bin/sh', imageOf('host'), '-s'];
  const done = await quietly({ input: functions + script })`docker run ${container}`;
  if (done.ok) return done.stdout;
  throw new LabError(
    `${failure}: ${lastLines(done.stderr)}`,
    'The lab needs a Docker engine that runs as root on a kernel with loop devices (modprobe loop).',
  );
}
