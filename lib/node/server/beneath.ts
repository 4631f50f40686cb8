import type { BlockDevice, Facts, Mount } from '../../engine/host/facts/facts.ts';

export type Disks = Pick<Facts, 'mounts' | 'blockDevices'>;

/** What is known of a host's disks, and of the maker of the machine. */
export type Host = Disks & Pick<Facts, 'fstab' | 'vendor'>;

/** Whether a path is a folder itself or anything below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** The mount that a path is on. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts
    .filter(({ target }) => isWithin(path, target))
    .toSorted((a, b) => a.target.length - b.target.length)
    .at(-1);
}

/**
 * The block devices of a mount's file system: one, or several of btrfs, ZFS and bcachefs. The
 * kernel's number finds it where the name does not, as with `/dev/root`.
 */
export function devicesOf({ number, source, type }: Mount, devices: readonly BlockDevice[]): BlockDevice[] {
  if (type === 'zfs') {
    const [pool] = source.split('/');
    return devices.filter(({ signature, label }) => signature === 'zfs_member' && label === pool);
  }
  const sources = type === 'bcachefs' ? source.split(':') : [source];
  const own = devices.filter((each) => each.number === number || sources.includes(each.path));
  // All devices of one btrfs file system have its UUID.
  const uuids = new Set(own.map(({ uuid }) => uuid).filter(Boolean));
  return type === 'btrfs'
    ? devices.filter((each) => own.includes(each) || (each.signature === 'btrfs' && uuids.has(each.uuid)))
    : own;
}

/**
 * Devices with all below them, down to the disks: partitions, arrays, volumes, and the disk of a
 * file behind a loop device.
 */
export function allBeneath(devices: readonly BlockDevice[], disks: Disks): BlockDevice[] {
  const seen = new Set<BlockDevice>();
  const waiting = [...devices];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    waiting.push(...parentsOf(at, disks));
  }
  return [...seen];
}

function parentsOf({ parents, backingFile }: BlockDevice, { mounts, blockDevices }: Disks): BlockDevice[] {
  const file = backingFile === undefined ? undefined : mountOf(backingFile, mounts);
  return [
    ...blockDevices.filter(({ path }) => parents.includes(path)),
    ...(file ? devicesOf(file, blockDevices) : []),
  ];
}

/** Whether devices are NVMe disks, or partitions, arrays or volumes on such disks alone. */
export function areNvme(devices: readonly BlockDevice[], disks: Disks): boolean {
  const all = allBeneath(devices, disks);
  const paths = new Set(all.map(({ path }) => path));
  const lowest = all.filter(({ parents }) => !parents.some((parent) => paths.has(parent)));
  return lowest.length > 0 && lowest.every(isNvme);
}

export function isNvme({ path, transport }: BlockDevice): boolean {
  return path.startsWith('/dev/nvme') || transport === 'nvme';
}

/** Whether two mounts show the same file system: a bind mount and its origin, two subvolumes. */
export function isSameFileSystem(a: Mount, b: Mount): boolean {
  return (
    a === b || (a.number === b.number && a.number !== '') || (a.type === b.type && a.source === b.source)
  );
}
