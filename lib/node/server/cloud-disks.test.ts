import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import preflight from '../../../roles/preflight.ts';
import { parseBlockDevices } from '../../engine/host/facts/block-devices.ts';
import { parseFstab } from '../../engine/host/facts/fstab.ts';
import { parseMounts } from '../../engine/host/facts/mounts.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
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

/** Where Docker's root belongs; the temporary disk that a folder is on, and why; empty for a disk that stays. */
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
  'aws-btrfs-mixed': ['/var/lib/docker', '/data', '/dev/nvme2n1 is a disk "Amazon EC2 NVMe Instance Storage"'],
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
  'data-in-memory': ['/var/lib/docker', '/data', '/data is in memory (tmpfs)'],
};

test('every host of the folder is judged', () => {
  const names = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
  expect(names.map(({ name }) => name).toSorted()).toEqual(Object.keys(hosts).toSorted());
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
      refusal(await preflight.resources(await contextOf({ facts, changes: [[['vars', 'paths'], paths]] })), wanted);
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
    const choose = (temporary_disk: boolean) => dockerDisk(facts, { disk: path, temporary_disk }, '/elsewhere');
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
  expect(() => dockerDisk(factsOf('aws-blank'), { disk: '/dev/nvme1n1', temporary_disk: false }, '/data')).toThrow(
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

test.each(['rented-mirrored', 'bound-docker', 'btrfs-subvolumes'])(
  '%s meets the hardware table: mirrored, bound and subvolumes are on NVMe disks',
  async (name) => {
    expect(await advice(name)).toEqual(met);
  },
);
