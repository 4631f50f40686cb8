import { expect, test } from 'vitest';
import type { BlockDevice, Mount } from '../../engine/host/facts/facts.ts';
import { aDevice, aMount } from '../../engine/host/testing/disk-facts.ts';
import { dataDisk } from './data-disk.ts';

const disk = (path: string, size: number, more: Partial<BlockDevice> = {}) =>
  aDevice(path, { size, signature: 'ext4', ...more });
const mount = (target: string, source: string, size: number) => aMount(target, { source, size });

const root = { mount: mount('/', '/dev/sda1', 50e9), device: disk('/dev/sda1', 50e9) };
// ext4 on a disk of 2000 GB.
const large = mount('/data', '/dev/nvme0n1', 1_968_000_000_000);
const nvme = disk('/dev/nvme0n1', 2_000_398_934_016);

const judged = (
  mounts: Mount[],
  blockDevices: BlockDevice[],
  wanted: { disk?: string; data?: string } = {},
) =>
  dataDisk(
    { mounts, blockDevices, fstab: [], vendor: '' },
    {
      paths: { deployment: '/opt/rpc-node', data: wanted.data ?? '/data', temporary_disk: false },
      docker_root: { disk: wanted.disk, format: false, temporary_disk: false },
    },
  );

test('a disk as the table has it meets it, where Docker and the databases are on it', () => {
  expect(judged([root.mount, large], [root.device, nvme])).toMatchObject({
    wanted: 'an NVMe disk of 2000 GB for its data',
    met: true,
  });
});

test('a blank disk that is not mounted does not meet it, and the hint names it', () => {
  const blank = disk('/dev/nvme0n1', 2_000_398_934_016, { signature: '' });
  expect(judged([root.mount], [root.device, blank])).toEqual({
    wanted: 'an NVMe disk of 2000 GB for its data',
    seen: "its databases (/data) on / (/dev/sda1, 50 GB, not NVMe) and Docker's data (/var/lib/docker) on / (/dev/sda1, 50 GB, not NVMe)",
    met: false,
    hint: '/dev/nvme0n1 with 2000 GB is not in use: docker_root: { disk: /dev/nvme0n1, format: true }',
  });
});

test('a blank disk that the inventory names will hold both', () => {
  const blank = disk('/dev/nvme0n1', 2_000_398_934_016, { signature: '' });
  expect(judged([root.mount], [root.device, blank], { disk: '/dev/nvme0n1' }).met).toBe(true);
});

test('databases on the small disk do not meet it, although Docker goes to the large one', () => {
  const found = judged([root.mount, { ...large, target: '/mnt/big' }], [root.device, nvme]);
  expect(found).toMatchObject({
    met: false,
    seen: "its databases (/data) on / (/dev/sda1, 50 GB, not NVMe) and Docker's data (/mnt/big/docker) on /mnt/big (/dev/nvme0n1, 1968 GB)",
    hint: 'before the first deploy, put the databases on the larger disk: paths: { data: /mnt/big/databases }',
  });
  expect(
    judged([root.mount, { ...large, target: '/mnt/big' }], [root.device, nvme], {
      data: '/mnt/big/databases',
    }).met,
  ).toBe(true);
});

test.each<[string, string, Partial<BlockDevice>[], string]>([
  [
    'a partition of a large disk',
    '/dev/nvme0n1p2',
    [{ path: '/dev/nvme0n1p2', size: 100e9, type: 'part', parents: ['/dev/nvme0n1'] }],
    '/dev/nvme0n1 has 3900 GB that nothing uses: grow the partition /dev/nvme0n1p2, then the file system at /data',
  ],
  [
    'a volume of a large group',
    '/dev/mapper/vg-data',
    [
      { path: '/dev/nvme0n1p3', size: 3990e9, type: 'part', parents: ['/dev/nvme0n1'] },
      { path: '/dev/mapper/vg-root', size: 50e9, type: 'lvm', parents: ['/dev/nvme0n1p3'] },
      { path: '/dev/mapper/vg-data', size: 100e9, type: 'lvm', parents: ['/dev/nvme0n1p3'] },
    ],
    '/dev/nvme0n1p3 has 3840 GB that nothing uses: grow the volume /dev/mapper/vg-data, then the file system at /data',
  ],
  [
    'a small file system on a large disk',
    '/dev/nvme0n1',
    [],
    '/dev/nvme0n1 has 4000 GB: grow the file system at /data to all of it',
  ],
  [
    'a partition of a disk that is used up',
    '/dev/nvme0n1p2',
    [
      { path: '/dev/nvme0n1p1', size: 3890e9, type: 'part', parents: ['/dev/nvme0n1'] },
      { path: '/dev/nvme0n1p2', size: 100e9, type: 'part', parents: ['/dev/nvme0n1'] },
    ],
    'mount a larger disk at paths.data, or name its folder there',
  ],
])('the hint says what to grow: %s', (_, source, devices, hint) => {
  const all = [
    disk('/dev/nvme0n1', 4000e9),
    ...devices.map(({ path = '', ...more }) => aDevice(path, { signature: 'x', ...more })),
  ];
  expect(judged([mount('/', '/dev/sda1', 50e9), mount('/data', source, 100e9)], all)).toMatchObject({
    met: false,
    hint,
  });
});

test('the root device has a name of the kernel that no device has: its number finds the disk', () => {
  const root = { ...mount('/', '/dev/root', 1_968_000_000_000), number: '259:2' };
  const part = disk('/dev/nvme0n1p1', 2_000_000_000_000, {
    type: 'part',
    transport: '',
    parents: [nvme.path],
    number: '259:2',
  });
  expect(judged([root], [nvme, part])).toMatchObject({
    met: true,
    seen: expect.stringContaining('/ (/dev/nvme0n1p1, 1968 GB)'),
  });
});

test('a small file system on a large disk does not meet it, nor does a large disk of another kind', () => {
  expect(judged([{ ...large, size: 50e9 }], [nvme]).met).toBe(false);
  expect(judged([{ ...large, source: '/dev/sdb' }], [disk('/dev/sdb', 4000e9)])).toMatchObject({
    met: false,
    hint: 'mount a larger disk at paths.data, or name its folder there',
  });
});

test('an array, a partition and a subvolume on NVMe disks count as one', () => {
  const half = disk('/dev/nvme0n1', 1_000_204_886_016);
  const array = disk('/dev/md0', 2_000_398_934_016, { type: 'raid0', transport: '', parents: [half.path] });
  expect(judged([mount('/data', '/dev/md0', 1_968_000_000_000)], [half, array]).met).toBe(true);
  const part = disk('/dev/nvme0n1p2', 2_000_000_000_000, {
    type: 'part',
    transport: '',
    parents: [nvme.path],
  });
  const subvolume = {
    ...mount('/data', '/dev/nvme0n1p2', 2_000_000_000_000),
    type: 'btrfs',
    root: '/@data',
    number: '0:44',
  };
  expect(judged([subvolume], [nvme, part]).met).toBe(true);
});

test('a device that names itself as its parent does not hang the check', () => {
  const loop = disk('/dev/sdb', 4000e9, { parents: ['/dev/sdb'] });
  expect(judged([mount('/data', '/dev/sdb', 4000e9)], [loop]).met).toBe(false);
});

test('without a disk for Docker it says why', () => {
  expect(judged([], []).seen).toBe('none: no mounted, writable, local disk was found for the data of Docker');
});
