import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import preflight from '../../../roles/preflight.ts';
import { parseBlockDevices } from '../../engine/host/facts/block-devices.ts';
import type { Facts } from '../../engine/host/facts/facts.ts';
import { parseFstab } from '../../engine/host/facts/fstab.ts';
import { parseMounts } from '../../engine/host/facts/mounts.ts';
import { describeUnmet } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { canHoldDatabase } from '../databases/data-place.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import { dataIsInItsPlace, mountsOutlastReboot } from './data-disks.ts';
import { roomToGrow } from './grow.ts';
import { dockerDisk } from './largest-disk.ts';

const folder = new URL('../../../test/hosts/', import.meta.url);

/** What a host printed, as facts. */
function factsOf(name: string) {
  const read = (file: string) => readFileSync(new URL(`${name}/${file}`, folder), 'utf8');
  return {
    blockDevices: parseBlockDevices(read('block-devices')),
    mounts: parseMounts(read('mounts')),
    fstab: parseFstab(read('fstab')),
    vendor: read('vendor').trim(),
  };
}

const lost = 'All on it is lost when the server is stopped, resized or moved to another machine';

/**
 * Where Docker's root belongs; the temporary disk that a folder is on, and why; empty for a disk
 * that stays.
 */
const hosts: Readonly<Record<string, readonly [root: string, folder: string, why: string]>> = {
  'azure-cloud-init': ['/data/docker', '/mnt', '/dev/sdb1 is /dev/disk/cloud/azure_resource-part1'],
  'azure-agent': [
    '/data/docker',
    '/mnt/resource',
    '/mnt/resource/DATALOSS_WARNING_README.txt says that its data will be lost',
  ],
  'azure-sysfs-alone': ['/data/docker', '/srv', "/dev/sdb is Azure's resource disk"],
  'azure-v6': ['/data/docker', '/mnt/local', '/dev/nvme1n1 is a disk "Microsoft NVMe Direct Disk v2"'],
  'aws-striped': ['/var/lib/docker', '/data', '/dev/nvme2n1 is a disk "Amazon EC2 NVMe Instance Storage"'],
  'aws-lvm': ['/var/lib/docker', '/data', '/dev/nvme2n1 is a disk "Amazon EC2 NVMe Instance Storage"'],
  'aws-btrfs-mixed': [
    '/var/lib/docker',
    '/data',
    '/dev/nvme2n1 is a disk "Amazon EC2 NVMe Instance Storage"',
  ],
  'aws-zfs': ['/var/lib/docker', '/data', '/dev/nvme2n1 is a disk "Amazon EC2 NVMe Instance Storage"'],
  'aws-xen': [
    '/var/lib/docker',
    '/mnt',
    "cloud-init has mounted it at /mnt, where it mounts the cloud's temporary disk",
  ],
  'aws-blank': ['/var/lib/docker', '/data', ''],
  'aws-user-mount': ['/mnt/docker', '/mnt', ''],
  'gcp-nvme': ['/data/docker', '/mnt/disks/ssd', '/dev/nvme0n1 is /dev/disk/by-id/google-local-nvme-ssd-0'],
  'gcp-scsi': ['/var/lib/docker', '/mnt/disks/ssd', '/dev/sdb is a disk "EphemeralDisk"'],
  'gcp-hyperdisk': ['/data/docker', '/data', ''],
  'alibaba-local': [
    '/var/lib/docker',
    '/data',
    `/dev/nvme1n1 is a local disk of the cloud's machine ("INTEL SSDPE2KX040T8")`,
  ],
  openstack: ['/var/lib/docker', '/mnt', '/dev/vdb has the label "ephemeral0"'],
  'oracle-dense-io': ['/data/docker', '/data', ''],
  'rented-mirrored': ['/var/lib/docker', '/data', ''],
  'bound-docker': ['/var/lib/docker', '/data', ''],
  'btrfs-subvolumes': ['/var/lib/docker', '/data', ''],
  'usb-partition': ['/var/lib/docker', '/data', ''],
  'loop-on-temporary': ['/data/docker', '/srv', '/dev/sdb1 is /dev/disk/cloud/azure_resource-part1'],
  'aws-root': ['/var/lib/docker', '/data', ''],
  lxc: ['/var/lib/docker', '/data', ''],
  mdraid: ['/data/docker', '/data', ''],
  multipath: ['/data/docker', '/data', ''],
  'xfs-without-ftype': ['/data/docker', '/data', ''],
  'bound-export': ['/var/lib/docker', '/data', ''],
  'mount-each-database': ['/var/lib/docker', '/data', ''],
  'missing-disk': ['/var/lib/docker', '/data', ''],
  'data-in-memory': ['/var/lib/docker', '/data', '/data is in memory (tmpfs)'],
};

test('every host of the folder is judged', () => {
  const names = readdirSync(folder).filter((name) => existsSync(new URL(`${name}/block-devices`, folder)));
  expect(names.toSorted()).toEqual(Object.keys(hosts).toSorted());
});

test.each(Object.entries(hosts))('%s: Docker never gets a temporary disk by itself', (name, [root]) => {
  expect(dockerDisk(factsOf(name), { disk: undefined, temporary_disk: false }, '/data').root).toBe(root);
});

const names = Object.entries(hosts);

/** What `refusal` gives of a requirement that is met. */
const met = [undefined, undefined];

test.each(names)(
  '%s: databases on a temporary disk are refused, unless its key says so',
  async (name, [, path, why]) => {
    const facts = factsOf(name);
    const wanted = 'the databases are on a disk that keeps them';
    const of = async (paths: object) =>
      refusal(
        await preflight.resources(await contextOf({ facts, changes: [[['vars', 'paths'], paths]] })),
        wanted,
      );
    expect(await of({ data: `${path}/databases` })).toEqual(
      why === ''
        ? met
        : [
            `${wanted}: ${path}/databases is on a temporary disk: ${why}. ${lost}`,
            'mount a lasting disk, and set paths.data to a folder on it. Where all databases may be lost, set paths.temporary_disk: true',
          ],
    );
    expect(await of({ data: `${path}/databases`, temporary_disk: true })).toEqual(met);
  },
);

test.each(names.filter(([, [, path, why]]) => why !== '' && path !== '/data' && path !== '/mnt/resource'))(
  '%s: a temporary disk that is named for Docker is refused, unless its key says so',
  (name, [, path, why]) => {
    const facts = factsOf(name);
    const choose = (temporary_disk: boolean) =>
      dockerDisk(facts, { disk: path, temporary_disk }, '/elsewhere');
    expect(() => choose(false)).toThrow(
      expect.objectContaining({
        message: `${path}, which the inventory names as the disk for the data of Docker, is a temporary disk: ${why}. ${lost}`,
        hint: 'name another disk: docker_root: { disk: … }. Where Docker may lose all its data, set docker_root.temporary_disk: true',
      }),
    );
    expect(choose(true).root).toBe(`${path}/docker`);
  },
);

/** What preflight says of the disk for data. */
async function advice(name: string, changes: Parameters<typeof contextOf>[0]['changes'] = []) {
  const resources = await preflight.resources(await contextOf({ facts: factsOf(name), changes }));
  return refusal(resources, 'server has an NVMe disk of 2000 GB for its data');
}

test('a blank temporary disk is not recommended, and refused by its name', async () => {
  expect((await advice('aws-blank'))[1]).toBe('mount a larger disk at paths.data, or name its folder there');
  expect(() =>
    dockerDisk(factsOf('aws-blank'), { disk: '/dev/nvme1n1', temporary_disk: false }, '/data'),
  ).toThrow(
    '/dev/nvme1n1, which the inventory names as the disk for the data of Docker, is a temporary disk',
  );
});

test('a temporary disk is not recommended for the databases where Docker may use it', async () => {
  const [seen, hint] = await advice('azure-cloud-init', [
    [['vars', 'docker_root'], { disk: '/mnt', temporary_disk: true }],
    [['vars', 'paths'], { data: '/data' }],
  ]);
  expect(seen).toContain("Docker's data (/mnt/docker) on /mnt (/dev/sdb1, 2361 GB, not NVMe, temporary)");
  expect(hint).toBe('mount a larger disk at paths.data, or name its folder there');
});

test('a host with temporary disks alone is refused, and each is named', () => {
  const facts = factsOf('azure-cloud-init');
  const mounts = facts.mounts.filter(({ target }) => target === '/mnt');
  expect(() => dockerDisk({ ...facts, mounts }, { disk: undefined, temporary_disk: false }, '/data')).toThrow(
    'no mounted, writable, local disk was found for the data of Docker; temporary disks do not count: /dev/sdb1 is /dev/disk/cloud/azure_resource-part1',
  );
});

test.each(['rented-mirrored', 'mdraid', 'bound-docker', 'bound-export', 'btrfs-subvolumes', 'aws-root'])(
  '%s meets the hardware table: mirrored, bound, subvolumes and /dev/root are on NVMe disks',
  async (name) => {
    expect(await advice(name)).toEqual(met);
  },
);

test('the paths to one disk of a storage network are no room to grow, and a blank disk goes where none is mounted', async () => {
  expect(await advice('multipath')).toEqual([
    "server has an NVMe disk of 2000 GB for its data: it has its databases (/data) on /data (/dev/mapper/mpatha, 2164 GB, not NVMe) and Docker's data (/data/docker) on /data (/dev/mapper/mpatha, 2164 GB, not NVMe)",
    '/dev/nvme0n1 with 2000 GB is not in use: docker_root: { disk: /dev/nvme0n1, format: true }, and paths: { data: … } with another folder, as another disk is mounted at /data',
  ]);
  const other = dockerDisk(
    factsOf('multipath'),
    { disk: '/dev/nvme0n1', temporary_disk: false },
    '/srv/data',
  );
  expect(other).toMatchObject({ mountPoint: '/srv/data', device: '/dev/nvme0n1' });
});

test.each([
  ['mdraid', '/dev/md1'],
  ['multipath', '/dev/mapper/mpatha'],
])('%s: what a mirror or a path has twice is not there twice', (name, path) => {
  const { blockDevices } = factsOf(name);
  const devices = blockDevices.filter((each) => each.path === path);
  expect(devices[0]?.parents).toHaveLength(2);
  const [size = 0] = devices.map((each) => each.size);
  expect(roomToGrow({ mountPoint: '/data', devices, size }, size / 2, blockDevices)).toBe(undefined);
});

describe('a disk for each database', () => {
  test('counts for that database, and Docker is never put into its directory', async () => {
    expect(await advice('mount-each-database')).toEqual([
      "server has an NVMe disk of 2000 GB for its data: it has a database (/data/state-db) on /data/state-db (/dev/nvme0n1, 1968 GB), a database (/data/pool-db) on /data/pool-db (/dev/nvme1n1, 1968 GB) and Docker's data (/var/lib/docker) on / (/dev/vdb, 6.2 GB, not NVMe)",
      "mount a large NVMe disk for Docker's data, or name one that is mounted: docker_root: { disk: … }",
    ]);
  });

  test('is refused where it is a temporary one', async () => {
    const facts = factsOf('azure-cloud-init');
    const mounts = facts.mounts.map((each) =>
      each.target === '/mnt' ? { ...each, target: '/data/state-db' } : each,
    );
    const resources = await preflight.resources(await contextOf({ facts: { ...facts, mounts } }));
    expect((await refusal(resources, 'the databases are on a disk that keeps them'))[0]).toMatch(
      'the databases are on a disk that keeps them: /data/state-db is on a temporary disk: /dev/sdb1 is',
    );
  });

  test.each(['/tmp', '/run', '/var/tmp'])('is refused below %s', async (emptied) => {
    const facts = factsOf('rented-mirrored');
    const of = async (paths: object) =>
      refusal(
        await preflight.resources(await contextOf({ facts, changes: [[['vars', 'paths'], paths]] })),
        'the databases are on a disk that keeps them',
      );
    expect((await of({ data: `${emptied}/rpc` }))[0]).toBe(
      `the databases are on a disk that keeps them: ${emptied}/rpc is below ${emptied}, which the system empties: databases there are lost`,
    );
    expect(await of({ data: `${emptied}/rpc`, temporary_disk: true })).toEqual(met);
  });

  test('may be mounted below a folder that the system empties', async () => {
    const { mounts, ...facts } = factsOf('gcp-hyperdisk');
    const mounted = mounts.map((each) =>
      each.target === '/data' ? { ...each, target: '/run/media/disk' } : each,
    );
    expect(mounted).not.toEqual(mounts);
    const changes = [[['vars', 'paths'], { data: '/run/media/disk/rpc' }]] as const;
    const resources = await preflight.resources(
      await contextOf({ facts: { ...facts, mounts: mounted }, changes }),
    );
    expect(await refusal(resources, 'the databases are on a disk that keeps them')).toEqual(met);
  });

  test('is refused where a link leads to a temporary one', async () => {
    const facts = factsOf('azure-cloud-init');
    const resources = await preflight.resources(await contextOf({ facts }));
    const resource = resources.find(({ name }) => name === 'the databases are on a disk that keeps them');
    if (!resource) throw new Error('there is no such resource');
    // As `ln -s /mnt/db /data` has it there.
    const linked = fakeHost([[/readlink -m/, '/mnt/db\n/mnt/db/state-db\n/mnt/db/pool-db\n']]);
    expect(describeUnmet(resource, await resource.check(linked))).toMatch(
      '/data leads to /mnt/db, and /mnt/db is on a temporary disk: /dev/sdb1 is',
    );
  });

  test('holds lost+found when it is new: no database can be made there', async () => {
    const held = readFileSync(new URL('mount-each-database/state-db', folder), 'utf8');
    const resource = canHoldDatabase('/data/state-db');
    expect(describeUnmet(resource, await resource.check(fakeHost([[/ls -A/, held]])))).toBe(
      `/data/state-db is the root of a file system: it has lost+found, and PostgreSQL makes no database there
mount the file system at another place, for example /mnt/state-db, make an empty folder in it, and bind that folder to /data/state-db in /etc/fstab (mount option bind)`,
    );
  });

  test('that is not mounted is refused by its line in /etc/fstab', async () => {
    const resource = dataIsInItsPlace(await contextOf({ facts: factsOf('missing-disk') }));
    expect(describeUnmet(resource, await resource.check(fakeHost([[/data-disks problems/, '']])))).toBe(
      `/etc/fstab mounts UUID=66666666-0000-4000-8000-000000000009 at /data/pool-db, and it is not mounted
mount it: mount /data/pool-db. If this disk is gone for good, take its line out of /etc/fstab`,
    );
  });
});

/** What is said of a host whose disks nothing mounts after a reboot. */
async function lostAtReboot(name: string, data = '/data', more: Partial<Facts> = {}) {
  const facts = { ...factsOf(name), fstab: [], ...more };
  const resource = mountsOutlastReboot(await contextOf({ facts, changes: [[['vars', 'paths'], { data }]] }));
  return describeUnmet(resource, await resource.check(fakeHost([[/^systemctl show/, '']])));
}

test.each([
  [
    'mdraid',
    '/data',
    'Add to /etc/fstab: UUID=11111111-0000-4000-8000-000000000002 /data ext4 defaults,nofail 0 2',
  ],
  ['bound-export', '/srv/exports', 'Add to /etc/fstab: /data/exports /srv/exports none bind,nofail 0 0'],
  [
    'btrfs-subvolumes',
    '/data',
    'Add to /etc/fstab: UUID=dddddddd-0000-4000-8000-000000000001 /data btrfs defaults,nofail,subvol=/@data 0 0',
  ],
])(
  '%s: the line for /etc/fstab mounts the same folder, not the whole file system',
  async (name, data, line) => {
    expect(await lostAtReboot(name, data)).toBe(
      `${data}: neither /etc/fstab nor a unit mounts it again after a reboot
without a line in /etc/fstab the folder is empty after a reboot, and Docker does not start. ${line}`,
    );
  },
);

test('a folder that is bound from a file system without a mount of its own has no line', async () => {
  const mounts = factsOf('bound-export').mounts.filter(({ target }) => target !== '/data');
  expect(await lostAtReboot('bound-export', '/srv/exports', { mounts })).toMatch(
    /Mount the whole of UUID=66666666-\S+ somewhere, and bind its folder \/exports to \/srv\/exports/,
  );
});

test('in a container of LXC, lsblk lists the disks of the machine: none of them is recommended, and none is mounted from /etc/fstab', async () => {
  expect(factsOf('lxc').blockDevices.map(({ path }) => path)).toContain('/dev/nvme0n1');
  expect((await advice('lxc'))[1]).toBe('mount a larger disk at paths.data, or name its folder there');
  const { mounts } = factsOf('lxc');
  const volume = mounts.map((mount) => ({ ...mount, target: '/data' }));
  const container = 'lxc';
  expect(await lostAtReboot('lxc', '/data', { mounts: volume, container })).toMatch(/^ok\n/);
});
