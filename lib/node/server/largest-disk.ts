import type { BlockDevice, Facts, Mount } from '../../engine/host/facts/facts.ts';
import { Failure } from '../../engine/problem/problem.ts';

/** Where the Docker engine keeps its data by default. */
const defaultDockerRoot = '/var/lib/docker';

/** File systems of a local disk that Docker's overlay2 driver works on. */
const suitable = ['ext4', 'xfs', 'btrfs', 'ext3'];

/** Folders in which no disk for data is mounted: firmware, kernel interfaces, and files mounted by a container engine. */
const reserved = ['/boot', '/dev', '/etc', '/proc', '/run', '/snap', '/sys', '/usr'];

export interface DockerDisk {
  /** Where the disk is mounted, or will be. */
  readonly mountPoint: string;
  /** The folder on it that becomes Docker's root. */
  readonly root: string;
  /** Mount points of the same size: Docker is not moved from one of them to another. */
  readonly equals: readonly string[];
  /** The block device that the inventory names, where it is not mounted yet: it belongs at `mountPoint`. */
  readonly device?: string;
}

/**
 * The disk that Docker's data belongs on (spec part 1, operating rules): the one that the inventory names, by mount point or block
 * device, or else the largest mounted, writable, local file system.
 *
 * @param dataPath where a named block device that is not mounted gets mounted
 * @throws Problem when the named disk cannot be used, or when no disk can
 */
export function dockerDisk(
  { mounts, blockDevices }: Pick<Facts, 'mounts' | 'blockDevices'>,
  disk: string | undefined,
  dataPath: string,
): DockerDisk {
  if (disk !== undefined) return namedDisk(disk, mounts, blockDevices, dataPath);
  const usable = usableMounts(mounts, blockDevices);
  const size = Math.max(...usable.map((mount) => mount.size));
  const [largest, ...others] = usable.filter((mount) => mount.size === size);
  if (!largest) {
    throw new Failure('no mounted, writable, local disk was found for the data of Docker', {
      hint: 'mount one, or name it in the inventory: docker_root: { disk: … }',
    });
  }
  return { ...on(largest.target, mounts), equals: others.map(({ target }) => target) };
}

/** The mount that a path is on. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts
    .filter(({ target }) => isWithin(path, target))
    .toSorted((a, b) => a.target.length - b.target.length)
    .at(-1);
}

function namedDisk(disk: string, mounts: readonly Mount[], devices: readonly BlockDevice[], dataPath: string) {
  const mountedThere = mounts.findLast(({ target }) => target === disk);
  if (mountedThere) return usableMount(mountedThere, mounts);

  const device = devices.find(({ path }) => path === disk);
  const mountedAt = device?.mountpoints.find((target) => target.startsWith('/'));
  const mounted = mounts.find(({ source }) => source === disk) ?? mounts.find(({ target }) => target === mountedAt);
  if (mounted) return usableMount(mounted, mounts);

  if (!disk.startsWith('/dev/')) {
    throw new Failure(`nothing is mounted at ${disk}, which the inventory names as the disk for the data of Docker`, {
      hint: `mount it, or name a block device (/dev/…) or one of: ${usableMounts(mounts, devices)
        .map(({ target }) => target)
        .join(', ')}`,
    });
  }
  const taken = mounts.find(({ target }) => target === dataPath);
  if (taken) {
    throw new Failure(`${disk} cannot be mounted at ${dataPath}: ${taken.source} is mounted there already`, {
      hint: `give it a folder of its own in the inventory (paths: { data: … }), or name the disk that is mounted there (docker_root: { disk: ${dataPath} })`,
    });
  }
  return { mountPoint: dataPath, root: `${dataPath}/docker`, equals: [], device: disk };
}

function usableMount(mount: Mount, mounts: readonly Mount[]): DockerDisk {
  const refuse = (why: string, hint: string) =>
    new Failure(`${mount.target}, which the inventory names as the disk for the data of Docker, ${why}`, { hint });
  if (!isWritable(mount)) {
    throw refuse('is mounted read-only', 'mount it read-write, or name another: docker_root: { disk: … }');
  }
  if (!suitable.includes(mount.type))
    throw refuse(
      `is a ${mount.type} file system; Docker needs one of ${suitable.join(', ')}`,
      'name another: docker_root: { disk: … }',
    );
  return { ...on(mount.target, mounts), equals: [] };
}

function on(mountPoint: string, mounts: readonly Mount[]): Omit<DockerDisk, 'equals'> {
  const isThereAlready = mountOf(defaultDockerRoot, mounts)?.target === mountPoint;
  return { mountPoint, root: isThereAlready ? defaultDockerRoot : `${mountPoint.replace(/\/$/, '')}/docker` };
}

/** Each disk once, in the order of mount points. */
function usableMounts(mounts: readonly Mount[], devices: readonly BlockDevice[]): Mount[] {
  const usable = mounts
    .filter((mount) => isWritable(mount) && suitable.includes(mount.type) && isWholeDisk(mount))
    .filter(({ target }) => !reserved.some((folder) => isWithin(target, folder)))
    .filter(({ target }) => target === defaultDockerRoot || !isWithin(target, defaultDockerRoot))
    .filter(({ source }) => devices.find(({ path }) => path === source)?.transport !== 'usb')
    .toSorted((a, b) => (a.target < b.target ? -1 : 1));
  return usable.filter(({ source }, at) => usable.findIndex((other) => other.source === source) === at);
}

/** A bind mount of a folder shows as `device[/folder]`, as does a btrfs subvolume. */
function isWholeDisk({ source, type }: Mount): boolean {
  return source.startsWith('/dev/') && (type === 'btrfs' || !source.includes('['));
}

function isWritable({ options }: Mount): boolean {
  return !options.includes('ro');
}

/** Whether a path is a folder itself or anything below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
