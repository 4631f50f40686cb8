import type { BlockDevice, Facts } from '../../engine/host/facts/facts.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Variables } from '../variables/variables.ts';
import { gigabytes, type HardwareFinding } from './hardware.ts';
import { type DockerDisk, dockerDisk, isWithin, mountOf } from './largest-disk.ts';

/** Of both kinds of server: spec part 1, "Server roles and recommended hardware". Bytes. */
const requiredDisk = 2000e9;

/** The share of a disk that its file system must have: a boot partition and the file system's own tables take some. */
const leastShare = 0.95;

type Disks = Pick<Facts, 'mounts' | 'blockDevices'>;

type Location = NonNullable<ReturnType<typeof locationOf>>;

/**
 * Whether the disk of the hardware table is where the data is: Docker's (role docker-root) and that of the databases (`paths.data`). A
 * large disk that holds neither does not count.
 */
export function dataDisk(
  facts: Disks,
  { paths, docker_root }: Pick<Variables, 'paths' | 'docker_root'>,
): HardwareFinding {
  const wanted = `an NVMe disk of ${gigabytes(requiredDisk)} for its data`;
  const found = dockerDiskOf(facts, docker_root.disk, paths.data);
  if (found instanceof Problem) return { wanted, seen: `none: ${found.message}`, met: false };
  const databases = locationOf(paths.data, facts, found);
  const docker = locationOf(found.root, facts, found);
  const meets = (at: Location | undefined) =>
    at !== undefined && at.size >= leastShare * requiredDisk && isNvme(at.device, facts.blockDevices);
  const met = meets(databases) && meets(docker);
  const words = (what: string, folder: string, at: Location | undefined) =>
    `${what} (${folder}) on ${at ? described(at, facts.blockDevices) : 'an unknown disk'}`;
  const seen = `${words('its databases', paths.data, databases)} and ${words("Docker's data", found.root, docker)}`;
  return met ? { wanted, seen, met } : { wanted, seen, met, hint: hintFor(facts, databases, docker) };
}

function dockerDiskOf(facts: Disks, disk: string | undefined, dataPath: string): DockerDisk | Problem {
  try {
    return dockerDisk(facts, disk, dataPath);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Where a folder is, or will be once the deploy has mounted the named disk. Size in bytes. */
function locationOf(folder: string, { mounts, blockDevices }: Disks, disk: DockerDisk) {
  const { device, mountPoint } = disk;
  if (device !== undefined && isWithin(folder, mountPoint)) {
    return { mountPoint, device, size: blockDevices.find(({ path }) => path === device)?.size ?? 0 };
  }
  const mount = mountOf(folder, mounts);
  // A subvolume shows as `/dev/nvme0n1p2[/@data]`.
  return mount && { mountPoint: mount.target, device: mount.source.replace(/\[.*$/, ''), size: mount.size };
}

function described({ mountPoint, device, size }: Location, devices: readonly BlockDevice[]): string {
  return `${mountPoint} (${device}, ${gigabytes(size)}${isNvme(device, devices) ? '' : ', not NVMe'})`;
}

/** Names a better place: the disk of one of the two, or a large disk that holds nothing. */
function hintFor({ blockDevices }: Disks, databases: Location | undefined, docker: Location | undefined): string {
  const size = (at: Location | undefined) => at?.size ?? 0;
  const parents = new Set(blockDevices.map(({ parent }) => parent));
  const blank = blockDevices.find(
    ({ path, size, signature, mountpoints }) =>
      size >= requiredDisk &&
      signature === '' &&
      mountpoints.length === 0 &&
      !parents.has(path) &&
      isNvme(path, blockDevices),
  );
  if (blank)
    return `${blank.path} with ${gigabytes(blank.size)} is not in use: docker_root: { disk: ${blank.path}, format: true }`;
  if (docker && size(docker) > size(databases)) {
    const folder = `${docker.mountPoint.replace(/\/$/, '')}/databases`;
    return `before the first deploy, put the databases on the larger disk: paths: { data: ${folder} }`;
  }
  return 'mount a larger disk at paths.data, or name its folder there';
}

/** Whether a device is an NVMe disk, or a partition, array or volume on such disks. */
function isNvme(device: string, devices: readonly BlockDevice[]): boolean {
  const byPath = new Map(devices.map((each) => [each.path, each]));
  const seen = new Set<string>();
  for (let at: string | undefined = device; at !== undefined && !seen.has(at); at = byPath.get(at)?.parent) {
    if (at.startsWith('/dev/nvme') || byPath.get(at)?.transport === 'nvme') return true;
    seen.add(at);
  }
  return false;
}
