import type { Facts, Mount } from '../../engine/host/facts/facts.ts';
import type { FstabEntry } from '../../engine/host/facts/fstab.ts';
import type { Reader } from '../../engine/host/host.ts';
import { readProgram, readScript } from '../../engine/host/script.ts';
import { command } from '../../engine/host/step.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { directory, file, schedule } from '../../engine/resource/kinds.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
} from '../../engine/resource/resource.ts';
import { dropIn } from '../../engine/resource/system/drop-in.ts';
import { type DataName, dataFolder, dataFolders } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import { devicesOf, isSameFileSystem, isWithin, mountOf } from './beneath.ts';
import { defaultDockerRoot, dockerDisk } from './largest-disk.ts';
import { product } from './product.ts';

const files = ['docker-root', 'data-disks'].map(
  (name) => new URL(`../../../templates/host/${name}.sh`, import.meta.url),
);
const script = readScript(...files);
const program = `/usr/local/lib/${product}/data-disks`;

/** Seconds between two looks whether Docker waits for a mount, without its guard. */
const every = 30;

/** Time limit for a look at the disks. Seconds. */
const lookLimit = 60;

/** A server with its facts. */
interface Place {
  readonly host: Pick<InventoryHost<Variables>, 'groups'>;
  readonly vars: Variables;
  readonly facts: Facts;
}

const foldersOf = ({ host, vars }: Place) => dataFolders(host.groups, vars);

/** Data that is not on the disk that held it, in words. */
export interface MissingData {
  readonly cause: string;
  /** What to do. */
  readonly hint: string;
}

/** Data that is not where it was: causes in words, and what to do. It only reads. */
export async function missingData(host: Reader): Promise<readonly MissingData[]> {
  const found = await look(host, ['problems']);
  return Array.from({ length: Math.floor(found.length / 2) }, (_, at) => ({
    cause: found[2 * at] ?? '',
    hint: found[2 * at + 1] ?? '',
  }));
}

async function look(host: Reader, words: readonly string[]): Promise<readonly string[]> {
  return (await host.$({ timeoutSeconds: lookLimit })`sh -c ${script} data-disks ${words}`).lines();
}

/**
 * All data of a server is on the file systems that held it. Where a disk is not mounted, the
 * server looks new: an empty database would be made on the disk below.
 */
export function dataIsInItsPlace(place: Place): Resource {
  const folders = foldersOf(place);
  return {
    name: 'data is on the disks that held it',
    expects: 'must',
    async check(host) {
      const isKept = ([name]: readonly [string, string]) =>
        !(name !== 'docker' && place.vars.paths.temporary_disk);
      const named = [...folders].filter(isKept).flat();
      const [cause, hint = ''] = await look(host, ['problems', ...named]);
      if (cause) return refused(cause, hint);
      const missing = notMounted(place, [...folders.values(), defaultDockerRoot]);
      if (!missing) return ok;
      return refused(
        `/etc/fstab mounts ${missing.source} at ${missing.target}, and it is not mounted`,
        `mount it: mount ${missing.target}. If this disk is gone for good, take its line out of /etc/fstab`,
      );
    },
  };
}

/** Mounted by another program, later or when it is needed; or of a kind that facts do not show. */
const notByBoot = ['noauto', 'x-systemd.automount'];
const shown = /^(ext[234]|xfs|btrfs|auto|none|zfs|nfs4?|cifs)$/;

/**
 * The line of fstab for a disk below a folder with data, where it is not mounted. The disk that a
 * deploy mounts does not count.
 */
function notMounted({ facts, vars }: Place, folders: readonly string[]): FstabEntry | undefined {
  const { mounts, fstab } = facts;
  return fstab.find(
    ({ target, type, options }) =>
      target !== '/' &&
      folders.some((folder) => isWithin(folder, target)) &&
      shown.test(type) &&
      !options.some((option) => notByBoot.includes(option)) &&
      !mounts.some((mount) => mount.target === target) &&
      !(target === vars.paths.data && vars.docker_root.disk?.startsWith('/dev/')),
  );
}

/** A disk with data is mounted at every boot, and not by hand alone. */
export function mountsOutlastReboot(place: Place): Resource {
  const { mounts, fstab, container } = place.facts;
  const folders = [...foldersOf(place).values()];
  const targets = new Map(
    folders.flatMap((folder) => mountOf(folder, mounts) ?? []).map((mount) => [mount.target, mount]),
  );
  const byHand = [...targets.values()].filter(
    ({ target, type }) => target !== '/' && type !== 'zfs' && !fstab.some((entry) => entry.target === target),
  );
  const [first] = byHand;
  return expectation('disks with data are mounted at every boot', {
    async check(host) {
      if (byHand.length === 0 || isMountedFromOutside(container)) return ok;
      // A unit of its own may mount it.
      const units = await Promise.all(
        byHand.map(async ({ target }) => ({
          target,
          unit: await host.$`systemctl show --property FragmentPath --value "$(systemd-escape --path --suffix=mount ${target})"`,
        })),
      );
      const lost = units.filter(({ unit }) => unit.text() === '').map(({ target }) => target);
      return lost.length === 0
        ? ok
        : drift(`${lost.join(', ')}: neither /etc/fstab nor a unit mounts it again after a reboot`);
    },
    severity: 'should',
    hint: `without a line in /etc/fstab the folder is empty after a reboot, and Docker does not start. ${first ? howToKeep(first, place.facts) : ''}`,
  });
}

/**
 * Containers of whole systems have their disks by their own settings: systemd mounts no device of
 * their fstab.
 */
const isMountedFromOutside = (container: string | undefined) =>
  ['lxc', 'lxc-libvirt', 'systemd-nspawn', 'openvz'].includes(container ?? '');

/**
 * How /etc/fstab gets the same mount. A folder of a file system is a subvolume of btrfs, or bound:
 * the whole one has other data.
 */
function howToKeep(mount: Mount, { mounts, blockDevices }: Facts): string {
  const { target, source, type, root, options } = mount;
  const uuid = devicesOf(mount, blockDevices)[0]?.uuid;
  const device = uuid ? `UUID=${uuid}` : source;
  const add = 'Add to /etc/fstab:';
  if (root === '/') return `${add} ${device} ${target} ${type} defaults,nofail 0 2`;
  if (options.includes(`subvol=${root}`))
    return `${add} ${device} ${target} ${type} defaults,nofail,subvol=${root} 0 0`;
  const whole = mounts.find((each) => each.root === '/' && isSameFileSystem(each, mount));
  return whole
    ? `${add} ${whole.target.replace(/\/$/, '')}${root} ${target} none bind,nofail 0 0`
    : `Mount the whole of ${device} somewhere, and bind its folder ${root} to ${target} (mount option bind)`;
}

/**
 * Where data lies is remembered on the host's root file system. Directly after its folder was made
 * or moved. On a temporary disk that the inventory accepts nothing is: the disk may be another one
 * after each stop of the server.
 */
export function placeIsRemembered(vars: Variables, name: DataName | 'docker'): Resource[] {
  const { temporary_disk } = name === 'docker' ? vars.docker_root : vars.paths;
  return temporary_disk
    ? [placeIsForgotten(name)]
    : [remembered(name, name === 'docker' ? '-' : dataFolder(vars, name))];
}

/** The inventory accepts a temporary disk since the place was remembered. */
function placeIsForgotten(name: DataName | 'docker'): Resource {
  return {
    name: `no disk is remembered for ${name}`,
    async check(host) {
      const [seen] = await look(host, ['seen', name, '-']);
      if (seen === 'new') return ok;
      return drift(
        [{ what: 'remembered', was: 'a disk', wanted: 'none: it is temporary' }],
        [command`sh -c ${script} data-disks forget ${name}`],
      );
    },
  };
}

function remembered(name: DataName | 'docker', path: string): Resource {
  return {
    name: `the disk of ${name === 'docker' ? "docker's root" : path} is remembered`,
    async check(host) {
      const [[seen, cause = '', hint = ''], engine] = await Promise.all([
        look(host, ['seen', name, path]),
        host.unit('docker.service'),
      ]);
      if (name === 'docker' && engine.load === 'not-found') return unknownUntil('docker is installed');
      if (seen === 'gone') return refused(cause, hint);
      if (seen === 'same') return ok;
      const was = seen === 'moved' ? 'that of its former place' : 'not yet';
      return drift(
        [{ what: 'remembered', was, wanted: 'where it is' }],
        [command`sh -c ${script} data-disks remember ${name} ${path}`],
      );
    },
  };
}

/**
 * Docker does not start while a disk with data is missing, and starts when it is back. Its
 * containers would make empty databases on the disk below.
 */
export function dockerWaitsForData(place: Place): Resource[] {
  const { facts, vars } = place;
  const root = place.host.groups.includes('backup')
    ? []
    : [dockerDisk(facts, vars.docker_root, vars.paths.data).root];
  const unit = `[Unit]
RequiresMountsFor=${[...root, ...foldersOf(place).values()].join(' ')}

[Service]
ExecStartPre=${program} guard
`;
  return [
    directory(`/usr/local/lib/${product}`),
    directory(`/etc/${product}`),
    file(program)
      .content(readProgram(...files))
      .mode(0o755),
    dropIn('docker.service', `${product}-data-disks`, unit),
    schedule(`${product}-data-disks`, {
      every,
      command: `${program} watch`,
      description: 'Looks whether Docker waits for a missing disk',
      // Its mark that Docker waits.
      writes: ['/run'],
      needs: ['docker', 'systemd', 'disks'],
    }),
    ...placeIsRemembered(vars, 'docker'),
  ];
}
