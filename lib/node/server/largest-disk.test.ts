import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BlockDevice, Mount } from '../../engine/host/facts/facts.ts';
import { aDevice, aMount } from '../../engine/host/testing/disk-facts.ts';
import { dockerDisk } from './largest-disk.ts';

const GB = 1e9;

const mounted = (target: string, size: number, more: Partial<Mount> = {}) =>
  aMount(target, { size: size * GB, ...more });

function choose(
  mounts: readonly Mount[],
  disk?: string,
  blockDevices: readonly BlockDevice[] = [],
  more: { readonly temporary_disk?: boolean } = {},
) {
  const host = { mounts, blockDevices, fstab: [], vendor: '' };
  return dockerDisk(host, { disk, temporary_disk: false, ...more }, '/data');
}

test.each<[string, Mount[], string]>([
  ['the only disk keeps the default folder', [mounted('/', 50)], '/var/lib/docker'],
  ['a larger disk gets the data', [mounted('/', 50), mounted('/data', 2000)], '/data/docker'],
  ['a smaller one does not', [mounted('/', 500), mounted('/data', 100)], '/var/lib/docker'],
  [
    'a disk that is mounted for Docker already',
    [mounted('/', 50), mounted('/var/lib/docker', 100)],
    '/var/lib/docker',
  ],
  [
    'a larger disk than that',
    [mounted('/', 50), mounted('/var/lib/docker', 100), mounted('/srv', 101)],
    '/srv/docker',
  ],
  ['/var apart', [mounted('/', 50), mounted('/var', 400)], '/var/lib/docker'],
  ['read-only', [mounted('/', 50), mounted('/iso', 900, { options: ['ro'] })], '/var/lib/docker'],
  [
    'over the network',
    [mounted('/', 50), mounted('/nfs', 9000, { type: 'nfs4', source: 'nas:/x' })],
    '/var/lib/docker',
  ],
  [
    'in memory',
    [mounted('/', 50), mounted('/tmp', 900, { type: 'tmpfs', source: 'tmpfs' })],
    '/var/lib/docker',
  ],
  [
    'a file mounted into a container',
    [mounted('/', 50), mounted('/etc/hosts', 900, { source: '/dev/vda', root: '/x/hosts' })],
    '/var/lib/docker',
  ],
  [
    'a folder of the largest disk, mounted where Docker is',
    [
      mounted('/', 50),
      mounted('/data', 900, { source: '/dev/vdb' }),
      mounted('/var/lib/docker', 900, { source: '/dev/vdb', root: '/docker' }),
    ],
    '/var/lib/docker',
  ],
  [
    'a folder of the largest disk, mounted elsewhere',
    [
      mounted('/', 50),
      mounted('/a', 900, { source: '/dev/vdb', root: '/folder' }),
      mounted('/data', 900, { source: '/dev/vdb' }),
    ],
    '/data/docker',
  ],
  [
    'a btrfs subvolume',
    [
      mounted('/', 50),
      mounted('/srv', 900, { type: 'btrfs', source: '/dev/vda', root: '/@srv', number: '0:41' }),
    ],
    '/srv/docker',
  ],
  [
    'two subvolumes of one file system',
    [
      mounted('/', 900, { type: 'btrfs', source: '/dev/vda2', root: '/@', number: '0:25' }),
      mounted('/home', 900, { type: 'btrfs', source: '/dev/vda2', root: '/@home', number: '0:25' }),
    ],
    '/var/lib/docker',
  ],
  [
    'a volume mounted below Docker itself',
    [mounted('/', 50), mounted('/var/lib/docker/volumes', 900)],
    '/var/lib/docker',
  ],
])('largest disk: %s', (_, mounts, root) => {
  expect(choose(mounts).root).toBe(root);
});

test('a USB disk is not for data', () => {
  const stick = mounted('/media/stick', 900, { source: '/dev/sdb1' });
  expect(
    choose([mounted('/', 50), stick], undefined, [aDevice('/dev/sdb1', { transport: 'usb' })]).mountPoint,
  ).toBe('/');
});

test('disks of the same size are equal', () => {
  expect(choose([mounted('/', 50), mounted('/data2', 2000), mounted('/data1', 2000)])).toEqual({
    mountPoint: '/data1',
    root: '/data1/docker',
    equals: ['/data2'],
  });
});

test('a host without a usable disk is refused', () => {
  expect(() => choose([mounted('/', 50, { type: 'overlay', source: 'overlay' })])).toThrow(
    expect.objectContaining({
      message: 'no mounted, writable, local disk was found for the data of Docker',
      hint: 'mount a disk, or name one in the inventory: docker_root: { disk: … }',
    }),
  );
});

test('a disk can be named by its mount point, whatever its size', () => {
  expect(choose([mounted('/', 500), mounted('/srv', 20)], '/srv').root).toBe('/srv/docker');
  expect(() => choose([mounted('/', 500)], '/srv')).toThrow(
    expect.objectContaining({
      message: 'nothing is mounted at /srv, which the inventory names as the disk for the data of Docker',
      hint: 'mount a disk there, or name a block device (/dev/…) or one of: /',
    }),
  );
  expect(() => choose([mounted('/', 500), mounted('/srv', 20, { options: ['ro'] })], '/srv')).toThrow(
    expect.objectContaining({
      message: '/srv, which the inventory names as the disk for the data of Docker, is mounted read-only',
      hint: 'mount the disk read-write, or name another disk: docker_root: { disk: … }',
    }),
  );
  expect(() => choose([mounted('/', 500), mounted('/srv', 20, { type: 'nfs4' })], '/srv')).toThrow(
    expect.objectContaining({
      message:
        '/srv, which the inventory names as the disk for the data of Docker, is a nfs4 file system; Docker needs one of ext4, xfs, btrfs, ext3',
      hint: 'name another disk: docker_root: { disk: … }',
    }),
  );
});

test('a disk can be named by its block device', () => {
  const srv = mounted('/srv', 20, { source: '/dev/sdb1' });
  expect(choose([mounted('/', 500), srv], '/dev/sdb1')).toEqual({
    mountPoint: '/srv',
    root: '/srv/docker',
    equals: [],
  });
  const byMountPoint = aDevice('/dev/mapper/vg-srv', { mountpoints: ['/srv'] });
  expect(choose([mounted('/', 500), srv], '/dev/mapper/vg-srv', [byMountPoint]).mountPoint).toBe('/srv');
});

test('a named block device that is not mounted is mounted at the data path', () => {
  const wanted = { mountPoint: '/data', root: '/data/docker', equals: [], device: '/dev/sdc' };
  expect(choose([mounted('/', 500)], '/dev/sdc', [aDevice('/dev/sdc')])).toEqual(wanted);
});

test('whatever is mounted, the choice is the largest usable one and independent of the order', () => {
  const mounts = fc.uniqueArray(
    fc.record({
      target: fc.constantFrom('/', '/data', '/srv', '/var', '/var/lib/docker', '/boot', '/mnt/a'),
      size: fc.integer({ min: 1, max: 5 }),
      readOnly: fc.boolean(),
    }),
    { selector: ({ target }) => target },
  );
  fc.assert(
    fc.property(mounts, fc.array(fc.nat()), (given, keys) => {
      const all = given.map(({ target, size, readOnly }) =>
        mounted(target, size, { options: [readOnly ? 'ro' : 'rw'] }),
      );
      const usable = all.filter(({ target, options }) => target !== '/boot' && options[0] === 'rw');
      const shuffled = all.toSorted((a, b) => (keys[all.indexOf(a)] ?? 0) - (keys[all.indexOf(b)] ?? 0));
      if (usable.length === 0) {
        expect(() => choose(all)).toThrow();
        return;
      }
      const chosen = choose(all);
      expect(choose(shuffled)).toMatchObject({ mountPoint: chosen.mountPoint, root: chosen.root });
      expect(choose(shuffled).equals.toSorted()).toEqual(chosen.equals.toSorted());
      const size = Math.max(...usable.map((mount) => mount.size));
      const equallyLarge = usable.filter((mount) => mount.size === size).map(({ target }) => target);
      expect([chosen.mountPoint, ...chosen.equals].toSorted()).toEqual(equallyLarge.toSorted());
      // Docker's root is on the chosen disk.
      const holders = all.filter(({ target }) => `${chosen.root}/`.startsWith(target.replace(/\/?$/, '/')));
      const longest = holders.toSorted((a, b) => b.target.length - a.target.length)[0];
      expect(longest?.target).toBe(chosen.mountPoint);
    }),
  );
});

test('a named disk is refused where another one is mounted at the data path', () => {
  const mounts = [mounted('/', 50), mounted('/data', 100)];
  expect(() => choose(mounts, '/dev/blank', [aDevice('/dev/blank')])).toThrow(
    expect.objectContaining({
      message: '/dev/blank cannot be mounted at /data: /dev/disk-data is mounted there already',
      hint: 'give the data a folder of its own in the inventory (paths: { data: … }), or name the disk that is mounted there (docker_root: { disk: /data })',
    }),
  );
});
