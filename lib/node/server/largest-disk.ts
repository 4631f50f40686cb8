import type { BlockDevice, Mount } from '../../engine/host/facts/facts.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { dataNames } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import { allBeneath, devicesOf, type Host, isSameFileSystem, isWithin, mountOf } from './beneath.ts';
import { whyDevicesAreTemporary, whyTemporary } from './temporary-disk.ts';

/** Where the Docker engine keeps its data by default. */
export const defaultDockerRoot = '/var/lib/docker';

/** File systems of a local disk that Docker's overlay2 driver works on. */
const suitable = ['ext4', 'xfs', 'btrfs', 'ext3'];

/**
 * Folders in which no disk for data is mounted: firmware, kernel interfaces, and files mounted by
 * a container engine.
 */
const reserved = ['/boot', '/dev', '/etc', '/proc', '/run', '/snap', '/sys', '/usr'];

export interface DockerDisk {
  /** Where the disk is mounted, or will be. */
  readonly mountPoint: string;
  /** The folder on it that becomes Docker's root. */
  readonly root: string;
  /**
   * Other mount points of the disk, and those of disks of the same size: Docker is not moved from
   * one of them to another.
   */
  readonly equals: readonly string[];
  /**
   * The block device that the inventory names, where it is not mounted yet: it belongs at
   * `mountPoint`.
   */
  readonly device?: string;
}

type Wanted = Pick<Variables['docker_root'], 'disk' | 'temporary_disk'>;

/**
 * The disk that Docker's data belongs on (spec part 1, operating rules): the one that the
 * inventory names, by mount point or block device, or else the largest mounted, writable, local
 * file system. A temporary disk is never the largest, and is refused by name unless the inventory
 * accepts it.
 *
 * @param dataPath where a named block device that is not mounted gets mounted, and the databases
 * have their folders
 * @throws Problem when the named disk cannot be used, or when no disk can
 */
export function dockerDisk(host: Host, wanted: Wanted, dataPath: string): DockerDisk {
  if (wanted.disk !== undefined) return namedDisk(wanted.disk, wanted, host, dataPath);
  const { mounts } = host;
  const usable = usableMounts(host, dataPath);
  const size = Math.max(...usable.map((mount) => mount.size));
  const [largest, ...others] = usable.filter((mount) => mount.size === size);
  if (largest) return on(largest, mounts, others);
  const temporary = mounts.flatMap((mount) =>
    isCandidate(mount, host) ? (whyTemporary(mount, host) ?? []) : [],
  );
  const but = temporary.length === 0 ? '' : `; temporary disks do not count: ${temporary.join(', ')}`;
  throw new Failure(`no mounted, writable, local disk was found for the data of Docker${but}`, {
    hint: 'mount a disk, or name one in the inventory: docker_root: { disk: … }',
  });
}

function namedDisk(disk: string, wanted: Wanted, host: Host, dataPath: string): DockerDisk {
  const { mounts, blockDevices } = host;
  const mountedThere = mounts.findLast(({ target }) => target === disk);
  if (mountedThere) return usableMount(mountedThere, wanted, host);

  const device = blockDevices.find(({ path, links }) => path === disk || links.includes(disk));
  const mounted = mountOfDevice(disk, device, mounts);
  if (mounted) return usableMount(mounted, wanted, host);

  if (!disk.startsWith('/dev/')) {
    throw new Failure(
      `nothing is mounted at ${disk}, which the inventory names as the disk for the data of Docker`,
      {
        hint: `mount a disk there, or name a block device (/dev/…) or one of: ${usableMounts(host, dataPath)
          .map(({ target }) => target)
          .join(', ')}`,
      },
    );
  }
  refuseTemporary(disk, device && whyDevicesAreTemporary([device], host), wanted);
  const taken = mounts.find(({ target }) => target === dataPath);
  if (taken) {
    throw new Failure(`${disk} cannot be mounted at ${dataPath}: ${taken.source} is mounted there already`, {
      hint: `give the data a folder of its own in the inventory (paths: { data: … }), or name the disk that is mounted there (docker_root: { disk: ${dataPath} })`,
    });
  }
  return { mountPoint: dataPath, root: `${dataPath}/docker`, equals: [], device: disk };
}

/** The mount of a whole device rather than that of a folder of it. */
function mountOfDevice(
  disk: string,
  device: BlockDevice | undefined,
  mounts: readonly Mount[],
): Mount | undefined {
  const mountedAt = device?.mountpoints.find((target) => target.startsWith('/'));
  const all = mounts.filter(
    ({ source, target, number }) =>
      source === disk ||
      source === device?.path ||
      target === mountedAt ||
      (number !== '' && number === device?.number),
  );
  return all.find(({ root }) => root === '/') ?? all[0];
}

function usableMount(mount: Mount, wanted: Wanted, host: Host): DockerDisk {
  const refuse = (why: string, hint: string) =>
    new Failure(`${mount.target}, which the inventory names as the disk for the data of Docker, ${why}`, {
      hint,
    });
  if (!isWritable(mount)) {
    throw refuse(
      'is mounted read-only',
      'mount the disk read-write, or name another disk: docker_root: { disk: … }',
    );
  }
  if (!suitable.includes(mount.type))
    throw refuse(
      `is a ${mount.type} file system; Docker needs one of ${suitable.join(', ')}`,
      'name another disk: docker_root: { disk: … }',
    );
  refuseTemporary(mount.target, whyTemporary(mount, host), wanted);
  return on(mount, host.mounts, []);
}

/**
 * @param why the disk is temporary.
 * @throws Failure unless the inventory accepts that
 */
function refuseTemporary(disk: string, why: string | undefined, { temporary_disk }: Wanted): void {
  if (why === undefined || temporary_disk) return;
  throw new Failure(
    `${disk}, which the inventory names as the disk for the data of Docker, is a temporary disk: ${why}. ${lost}`,
    {
      hint: 'name another disk: docker_root: { disk: … }. Where Docker may lose all its data, set docker_root.temporary_disk: true',
    },
  );
}

/** What happens to a temporary disk. */
export const lost = 'All on it is lost when the server is stopped, resized or moved to another machine';

/**
 * @param equal disks of the same size
 */
function on(chosen: Mount, mounts: readonly Mount[], equal: readonly Mount[]): DockerDisk {
  const default_ = mountOf(defaultDockerRoot, mounts);
  // A folder of the disk may be mounted there.
  const isThereAlready = default_ !== undefined && isSameFileSystem(default_, chosen);
  const { target } = isThereAlready ? default_ : chosen;
  const counted = mounts.filter((mount) => [chosen, ...equal].some((each) => isSameFileSystem(each, mount)));
  return {
    mountPoint: target,
    root: isThereAlready ? defaultDockerRoot : `${target.replace(/\/$/, '')}/docker`,
    equals: counted.map((mount) => mount.target).filter((each) => each !== target),
  };
}

/**
 * Each file system once, in the order of mount points. The mount of a whole one comes before those
 * of its folders. What is mounted as the directory of a database is for PostgreSQL alone, which
 * makes no database beside other files.
 */
function usableMounts(host: Host, dataPath: string): Mount[] {
  const isOfDatabase = ({ target }: Mount) =>
    dataNames.some((name) => isWithin(target, `${dataPath}/${name}`));
  const usable = host.mounts
    .filter(
      (mount) => !isOfDatabase(mount) && isCandidate(mount, host) && whyTemporary(mount, host) === undefined,
    )
    .toSorted((a, b) => (a.target < b.target ? -1 : 1));
  const wholeFirst = usable.toSorted((a, b) => Number(b.root === '/') - Number(a.root === '/'));
  const first = (mount: Mount) => wholeFirst.find((other) => isSameFileSystem(other, mount));
  return usable.filter((mount) => first(mount) === mount);
}

/** A writable file system of a disk that stays in its place, where data may be. */
function isCandidate(mount: Mount, host: Host): boolean {
  const { target, source, type } = mount;
  return (
    isWritable(mount) &&
    suitable.includes(type) &&
    source.startsWith('/dev/') &&
    !reserved.some((folder) => isWithin(target, folder)) &&
    (target === defaultDockerRoot || !isWithin(target, defaultDockerRoot)) &&
    !allBeneath(devicesOf(mount, host.blockDevices), host).some(isPortable)
  );
}

function isPortable({ transport, removable }: BlockDevice): boolean {
  return transport === 'usb' || removable;
}

function isWritable({ options }: Mount): boolean {
  return !options.includes('ro');
}
