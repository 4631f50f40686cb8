import { lastLines, quietly } from './docker.mjs';
import { imageOf } from './images.mjs';
import { LabError } from './lab-error.mjs';
import { diskVolume, label, projectRoot } from './layout.mjs';

// Disks are sparse files in a volume, attached as loop devices from a short-lived container: so it is one way
// for every machine and user with a Docker engine, and nothing is needed on the machine itself.
const shell = [
  ...['--cap-add', 'SYS_ADMIN', '--cap-add', 'MKNOD'],
  ...['--device-cgroup-rule', 'b 7:* rmw', '--device-cgroup-rule', 'c 10:237 rmw'],
  ...['--security-opt', 'apparmor=unconfined', '--security-opt', 'seccomp=unconfined'],
  ...['--volume', '/dev:/dev', '--volume', `${diskVolume}:/disks`, '--network', 'none'],
];

/** What follows works in /disks, on names relative to it. A file that is attached already is not attached twice. */
const functions = `
set -eu
cd /disks
device() { losetup --noheadings --output NAME --associated "/disks/$1"; }
attach() { [ -n "$(device "$1")" ] || losetup --find "/disks/$1"; }
detach() { for d in $(device "$1"); do losetup --detach "$d"; done; }
`;

/**
 * @typedef {object} Disk
 * @property {string} file
 * @property {string} size
 * @property {string} uuid of the ext4 file system on it
 */

/** @param {string} host @param {string} disk */
export const diskFile = (host, disk) => `${host}-${disk}.img`;

export async function ensureDiskVolume() {
  await quietly`docker volume create --label ${label}=${projectRoot} ${diskVolume}`;
}

/**
 * Makes the disks anew, empty, each with one ext4 file system, and attaches them.
 * What was on a disk of the same name is gone: its host's container must have been removed before.
 *
 * @param {readonly Disk[]} wanted
 */
export async function makeDisks(wanted) {
  // The kernel fills in what mkfs leaves out later, when it has nothing else to do.
  const mkfs = 'mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1,lazy_journal_init=1';
  const steps = wanted.map(
    ({ file, size, uuid }) =>
      `detach ${file}; rm -f ${file}; truncate -s ${size} ${file}; ${mkfs} -U ${uuid} ${file}; attach ${file}`,
  );
  await run(steps.join('\n'), 'The disks of the lab cannot be made');
}

/** Attaches the disks that a restart of the machine has detached. */
export async function attachDisks() {
  await run('for f in *.img; do [ -e "$f" ] && attach "$f"; done', 'The disks of the lab cannot be attached');
}

/** Detaches all disks and removes them with what is on them. */
export async function removeDisks() {
  if (!(await quietly`docker volume inspect ${diskVolume}`).ok) return;
  await run(
    'for f in *.img; do [ -e "$f" ] && { detach "$f"; rm -f "$f"; }; done; true',
    'The disks of the lab cannot be removed',
  );
  await quietly`docker volume rm ${diskVolume}`;
}

/**
 * @param {string} script
 * @param {string} failure
 */
async function run(script, failure) {
  const done = await quietly({
    input: functions + script,
  })`docker run --rm --interactive ${shell} --entrypoint /bin/sh ${imageOf('host')} -s`;
  if (!done.ok) {
    throw new LabError(
      `${failure}: ${lastLines(done.stderr)}`,
      'The lab needs a Docker engine that runs as root on a kernel with loop devices (modprobe loop).',
    );
  }
}
