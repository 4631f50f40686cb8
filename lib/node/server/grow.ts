import type { BlockDevice } from '../../engine/host/facts/facts.ts';
import { gigabytes } from './hardware.ts';

interface FileSystem {
  readonly mountPoint: string;
  readonly devices: readonly BlockDevice[];
  readonly size: number;
}

/**
 * How a file system gets more room where it is: from the rest of its own device, of the disk of
 * its partition, or of the group of its volume. It holds a small part of a large disk on many
 * servers.
 *
 * @param missing bytes. @returns undefined where there is not as much that nothing uses
 */
export function roomToGrow(
  { mountPoint, devices, size }: FileSystem,
  missing: number,
  all: readonly BlockDevice[],
): string | undefined {
  // A mirror's devices hold the same.
  if (devices.length > 1) return undefined;
  const total = (some: readonly BlockDevice[]) => some.reduce((sum, each) => sum + each.size, 0);
  const names = (some: readonly BlockDevice[]) => some.map(({ path }) => path).join(', ');
  if (devices.length > 0 && total(devices) - size >= missing)
    return `${names(devices)} has ${gigabytes(total(devices))}: grow the file system at ${mountPoint} to all of it`;
  const seen = new Set<BlockDevice>();
  for (let at = devices; at.length > 0 && !at.some((each) => seen.has(each)); ) {
    for (const each of at) seen.add(each);
    // The disks of an array and the paths to one disk are not added up.
    if (at.some(({ type }) => /^(raid|mpath|linear)/.test(type))) return undefined;
    const parents = all.filter(({ path }) => at.some((each) => each.parents.includes(path)));
    const paths = new Set(parents.map(({ path }) => path));
    const children = all.filter(
      (each) => !paths.has(each.path) && each.parents.some((parent) => paths.has(parent)),
    );
    const free = total(parents) - total(children);
    if (free >= missing) {
      const what = at[0]?.type === 'lvm' ? 'the volume' : 'the partition';
      return `${names(parents)} has ${gigabytes(free)} that nothing uses: grow ${what} ${names(at)}, then the file system at ${mountPoint}`;
    }
    at = parents;
  }
  return undefined;
}
