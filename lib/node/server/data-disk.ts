import type { BlockDevice } from '../../engine/host/facts/facts.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Variables } from '../variables/variables.ts';
import { areNvme, devicesOf, type Host, isWithin, mountOf } from './beneath.ts';
import { roomToGrow } from './grow.ts';
import { gigabytes, type HardwareFinding } from './hardware.ts';
import { type DockerDisk, dockerDisk, lost } from './largest-disk.ts';
import { whyDevicesAreTemporary, whyTemporary } from './temporary-disk.ts';

/** Of both kinds of server: spec part 1, "Server roles and recommended hardware". Bytes. */
const requiredDisk = 2000e9;

/**
 * The share of a disk that its file system must have: a boot partition and the file system's own
 * tables take some.
 */
const leastShare = 0.95;

/** Where a folder is, or will be. Size in bytes. */
interface Location {
  readonly mountPoint: string;
  /** The name of its device, and the devices of its file system. */
  readonly device: string;
  readonly devices: readonly BlockDevice[];
  readonly size: number;
  readonly available: number;
  /** Why it is a temporary disk, in words. */
  readonly temporary: string | undefined;
}

type Wanted = Pick<Variables, 'paths' | 'docker_root'>;

/**
 * Whether the disk of the hardware table is where the data is: Docker's (role docker-root) and
 * that of the databases. A large disk that holds neither does not count.
 *
 * @param folders of the databases. Each may be on a disk of its own
 */
export function dataDisk(
  facts: Host,
  { paths, docker_root }: Wanted,
  folders: readonly string[] = [paths.data],
): HardwareFinding {
  const wanted = `an NVMe disk of ${gigabytes(requiredDisk)} for its data`;
  const found = dockerDiskOf(facts, docker_root, paths.data);
  if (found instanceof Problem) return { wanted, seen: `none: ${found.message}`, met: false };
  const places = folders.map((folder) => [folder, locationOf(folder, facts, found)] as const);
  const [databases] = places.map(([, at]) => at).toSorted((a, b) => (a?.size ?? 0) - (b?.size ?? 0));
  const areTogether = places.every(([, at]) => at?.mountPoint === databases?.mountPoint);
  const docker = locationOf(found.root, facts, found);
  const meets = (at: Location | undefined) =>
    at !== undefined && at.size >= leastShare * requiredDisk && areNvme(at.devices, facts);
  const met = places.every(([, at]) => meets(at)) && meets(docker);
  const words = (what: string, folder: string, at: Location | undefined) =>
    `${what} (${folder}) on ${at ? described(at, facts) : 'an unknown disk'}`;
  const ofDatabases = areTogether
    ? words('its databases', paths.data, databases)
    : places.map(([folder, at]) => words('a database', folder, at)).join(', ');
  const seen = `${ofDatabases} and ${words("Docker's data", found.root, docker)}`;
  return met
    ? { wanted, seen, met }
    : { wanted, seen, met, hint: hintFor(facts, paths.data, databases, docker) };
}

/**
 * Why the databases must not be where the inventory has them: on a temporary disk, in a folder that
 * a boot empties, or in one from which systemd-tmpfiles takes old files. Nothing where the
 * inventory accepts that.
 *
 * @param folders with data of the databases, or the one that holds these
 */
export function whyDatabasesWouldBeLost(
  facts: Host,
  { paths, docker_root }: Wanted,
  folders: readonly string[],
): string | undefined {
  if (paths.temporary_disk) return undefined;
  const found = dockerDiskOf(facts, docker_root, paths.data);
  const disk = found instanceof Problem ? undefined : found;
  for (const folder of folders) {
    const location = locationOf(folder, facts, disk);
    const emptied = /^((\/var)?\/(run|tmp))\//.exec(folder)?.[1];
    // A disk that is mounted there keeps what it has.
    if (emptied !== undefined && !isWithin(location?.mountPoint ?? '/', emptied))
      return `${folder} is below ${emptied}, which the system empties: databases there are lost`;
    const why = location?.temporary;
    if (why !== undefined) return `${folder} is on a temporary disk: ${why}. ${lost}`;
  }
  return undefined;
}

function dockerDiskOf(facts: Host, wanted: Wanted['docker_root'], dataPath: string): DockerDisk | Problem {
  try {
    return dockerDisk(facts, wanted, dataPath);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Where a folder is, or will be once the deploy has mounted the named disk. */
function locationOf(folder: string, facts: Host, disk: DockerDisk | undefined): Location | undefined {
  const { mounts, blockDevices } = facts;
  if (disk?.device !== undefined && isWithin(folder, disk.mountPoint)) {
    const devices = blockDevices.filter(({ path }) => path === disk.device);
    const size = devices[0]?.size ?? 0;
    const temporary = whyDevicesAreTemporary(devices, facts);
    return { mountPoint: disk.mountPoint, device: disk.device, devices, size, available: size, temporary };
  }
  const mount = mountOf(folder, mounts);
  if (!mount) return undefined;
  const devices = devicesOf(mount, blockDevices);
  const { target: mountPoint, source, size, available } = mount;
  const [only, ...others] = devices;
  // The kernel's own name of the root device says nothing: /dev/root.
  const device = only && others.length === 0 ? only.path : source;
  return { mountPoint, device, devices, size, available, temporary: whyTemporary(mount, facts) };
}

function described({ mountPoint, device, devices, size, temporary }: Location, facts: Host): string {
  const faults = [
    ...(areNvme(devices, facts) ? [] : ['not NVMe']),
    ...(temporary === undefined ? [] : ['temporary']),
  ];
  return `${mountPoint} (${[device, gigabytes(size), ...faults].join(', ')})`;
}

/**
 * Names a better place: a large disk that holds nothing, room on the same disk, or the disk of one
 * of the two.
 */
function hintFor(
  facts: Host,
  data: string,
  databases: Location | undefined,
  docker: Location | undefined,
): string {
  const { blockDevices } = facts;
  const size = (at: Location | undefined) => at?.size ?? 0;
  const parents = new Set(blockDevices.flatMap((each) => each.parents));
  const blank = blockDevices.find(
    (device) =>
      device.size >= requiredDisk &&
      device.signature === '' &&
      device.mountpoints.length === 0 &&
      !parents.has(device.path) &&
      areNvme([device], facts) &&
      whyDevicesAreTemporary([device], facts) === undefined,
  );
  if (blank) {
    // It gets mounted at paths.data.
    const taken = facts.mounts.some(({ target }) => target === data);
    const folder = taken
      ? `, and paths: { data: … } with another folder, as another disk is mounted at ${data}`
      : '';
    return `${blank.path} with ${gigabytes(blank.size)} is not in use: docker_root: { disk: ${blank.path}, format: true }${folder}`;
  }
  if (docker && docker.temporary === undefined && size(docker) > size(databases)) {
    const folder = `${docker.mountPoint.replace(/\/$/, '')}/databases`;
    return `before the first deploy, put the databases on the larger disk: paths: { data: ${folder} }`;
  }
  const missing = leastShare * requiredDisk - size(databases);
  if (databases && missing <= 0 && areNvme(databases.devices, facts))
    return "mount a large NVMe disk for Docker's data, or name one that is mounted: docker_root: { disk: … }";
  const grow = databases && missing > 0 ? roomToGrow(databases, missing, blockDevices) : undefined;
  return grow ?? 'mount a larger disk at paths.data, or name its folder there';
}
