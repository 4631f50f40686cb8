import { cpus, hostname, machine, release, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { createReader } from '../reader.ts';
import { connectLocally, standInFor } from '../testing/local-connection.ts';
import { parseBlockDevices } from './block-devices.ts';
import { parseCpu } from './cpu.ts';
import { gatherFacts, leastOffset } from './gather-facts.ts';
import { parseMounts } from './mounts.ts';
import { parseOsRelease } from './os-release.ts';

test('the facts of this machine take one round trip', async () => {
  const connection = await connectLocally();
  const facts = await gatherFacts(createReader(connection, 'here'));
  expect(connection.execs).toBe(1);
  expect(facts.hostname).toBe(hostname());
  expect(facts.distribution.id).toMatch(/\w/);
  expect(facts).toMatchObject({ architecture: machine(), kernel: release() });
  expect(facts.cpu).toMatchObject({ count: cpus().length, model: cpus()[0]?.model });
  expect(facts.cpu.flags.length).toBeGreaterThan(10);
  expect(facts.memory / totalmem()).toBeCloseTo(1, 1);
  expect(facts.clockOffset).toBe(0);
  for (const mount of facts.mounts) {
    expect(mount.type).not.toMatch(/^(proc|sysfs|overlay)$/);
    expect(mount.size).toBeGreaterThanOrEqual(mount.available);
  }
});

test('a host whose operating system is unknown is refused', async () => {
  standInFor('uname', 'echo "uname: broken" >&2; exit 1');
  const reader = createReader(await connectLocally(), 'here');
  await expect(gatherFacts(reader)).rejects.toThrow('here: uname gave no answer: uname: broken');
});

test('os-release with and without quotes', () => {
  expect(
    parseOsRelease(
      'PRETTY_NAME="Ubuntu 22.04.3 LTS"\nNAME=Ubuntu\nVERSION_ID="22.04"\nID=ubuntu\nVERSION_CODENAME=jammy\n',
    ),
  ).toEqual({ id: 'ubuntu', version: '22.04', codename: 'jammy', title: 'Ubuntu 22.04.3 LTS' });
  expect(parseOsRelease('ID=debian\n')).toEqual({ id: 'debian', version: '', codename: '', title: '' });
});

test('the clock rate of a processor is the highest one known', () => {
  const first = (model: string) =>
    `processor\t: 0\nmodel name\t: ${model}\ncpu MHz\t\t: 1200.000\nflags\t\t: fpu avx2 bmi2 adx\n\n`;
  const second = 'processor\t: 1\ncpu MHz\t\t: 2450.5\n';
  expect(parseCpu(`${first('AMD EPYC')}${second}max\n3400000\n`)).toEqual({
    count: 2,
    mhz: 3400,
    model: 'AMD EPYC',
    flags: ['fpu', 'avx2', 'bmi2', 'adx'],
  });
  expect(parseCpu(`${first('Intel(R) Xeon(R) CPU @ 3.20GHz')}max\n`).mhz).toBe(3200);
  expect(parseCpu(`${first('AMD EPYC')}${second}max\n`).mhz).toBe(2450.5);
  expect(parseCpu('processor\t: 0\nFeatures\t: asimd\n\nmax\n')).toMatchObject({
    count: 1,
    mhz: 0,
    flags: ['asimd'],
  });
});

test('mounts: sizes, names with spaces, read-only ones, stacked ones', () => {
  const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
30 22 259:1 / /data rw - ext4 /dev/sdb1 rw
31 30 259:2 /folder /data rw,noatime - xfs /dev/nvme0n1p1 ro,attr2
40 22 0:40 /x\\040y /mnt/a\\040b rw - nfs4 10.0.0.1:/x rw,vers=4

4096 1000 500 /
4096 2000 100 /data
1024 10 5 /mnt/a b
data-loss /data
`;
  expect(parseMounts(text)).toEqual([
    {
      target: '/',
      source: '/dev/vda1',
      type: 'ext4',
      options: ['rw', 'relatime', 'errors=remount-ro'],
      size: 4_096_000,
      available: 2_048_000,
      root: '/',
      number: '254:0',
      saysDataLoss: false,
    },
    {
      target: '/data',
      source: '/dev/nvme0n1p1',
      type: 'xfs',
      options: ['noatime', 'ro', 'attr2'],
      size: 8_192_000,
      available: 409_600,
      root: '/folder',
      number: '259:2',
      saysDataLoss: true,
    },
    {
      target: '/mnt/a b',
      source: '10.0.0.1:/x',
      type: 'nfs4',
      options: ['rw', 'vers=4'],
      size: 10_240,
      available: 5_120,
      root: '/x y',
      number: '0:40',
      saysDataLoss: false,
    },
  ]);
  expect(parseMounts('')).toEqual([]);
});

test('block devices: newer and older lsblk, and a signature that only the device itself shows', () => {
  const newer = JSON.stringify({
    blockdevices: [
      { kname: 'sda', path: '/dev/sda', size: 1000, type: 'disk', rota: true, tran: 'sata', fstype: null },
      {
        kname: 'sda1',
        path: '/dev/sda1',
        size: 900,
        type: 'part',
        rota: true,
        fstype: 'ext4',
        mountpoint: '/',
        pkname: 'sda',
      },
      {
        kname: 'nvme0n1',
        path: '/dev/nvme0n1',
        size: 5000,
        type: 'disk',
        rota: false,
        tran: 'nvme',
        fstype: null,
      },
      {
        kname: 'nvme1n1',
        path: '/dev/nvme1n1',
        size: 5000,
        type: 'disk',
        rota: false,
        tran: 'nvme',
        fstype: null,
      },
      { kname: 'sdz', path: '/dev/sdz', size: 5000, type: 'disk', rota: false, fstype: null },
      { kname: 'sdy', path: '/dev/sdy', size: 5000, type: 'disk', rota: false, fstype: null },
      { kname: 'loop0', path: '/dev/loop0', size: 0, type: 'loop', rota: false, fstype: null },
    ],
  });
  const probes = `DEVNAME=/dev/sda
PTTYPE=gpt
probed 0 sda
probed 2 nvme0n1
DEVNAME=/dev/nvme1n1
UUID=1-2
LABEL=data
TYPE=xfs
probed 0 nvme1n1
blkid: error: /dev/sdz: Operation not permitted
probed 2 sdz
`;
  const devices = parseBlockDevices(`${newer}\n\n${probes}`);
  expect(devices.map(({ path, signature }) => [path, signature])).toEqual([
    ['/dev/sda', 'gpt'],
    ['/dev/sda1', 'ext4'],
    ['/dev/nvme0n1', ''],
    ['/dev/nvme1n1', 'xfs'],
    ['/dev/sdz', 'unknown'],
    ['/dev/sdy', 'unknown'],
  ]);
  expect(devices[1]).toMatchObject({
    parents: ['/dev/sda'],
    mountpoints: ['/'],
    rotational: true,
    transport: '',
  });
  expect(devices[2]).toMatchObject({ size: 5000, rotational: false, transport: 'nvme', parents: [] });

  expect(devices[3]).toMatchObject({ uuid: '1-2', label: 'data' });
  expect(devices[4]).toMatchObject({ uuid: '', label: '' });

  const older = JSON.stringify({
    blockdevices: [
      {
        kname: 'sda',
        size: '1000',
        type: 'disk',
        rota: '1',
        children: [{ kname: 'sda1', size: '900', type: 'part', rota: '0' }],
      },
    ],
  });
  expect(
    parseBlockDevices(`${older}\n\n`).map(({ path, size, rotational }) => [path, size, rotational]),
  ).toEqual([
    ['/dev/sda', 1000, true],
    ['/dev/sda1', 900, false],
  ]);
  expect(parseBlockDevices('sh: lsblk: not found\n\n')).toEqual([]);
});

test('block devices: all disks of an array, the file of a loop device, and what a cloud says of a disk', () => {
  const listed = JSON.stringify({
    blockdevices: [
      {
        kname: 'sda',
        path: '/dev/sda',
        'maj:min': '8:0',
        size: 9,
        type: 'disk',
        model: 'Virtual Disk    ',
        rm: false,
      },
      { kname: 'sdb', path: '/dev/sdb', 'maj:min': '  8:16 ', size: 9, type: 'disk', rm: true },
      {
        kname: 'md0',
        path: '/dev/md0',
        'maj:min': '9:0',
        size: 9,
        type: 'raid0',
        pkname: 'sda',
        uuid: 'f',
        label: 'l',
      },
      { kname: 'md0', path: '/dev/md0', 'maj:min': '9:0', size: 9, type: 'raid0', pkname: 'sdb' },
      { kname: 'loop0', path: '/dev/loop0', 'maj:min': '7:0', size: 9, type: 'loop' },
    ],
  });
  const rest = `below md0 sdb
below md0 sda
backing loop0 /srv/a b.img
sysfs sda /sys/devices/x/block/sda
link sda /dev/disk/cloud/azure_resource
`;
  const [sda, sdb, md0, loop0, ...others] = parseBlockDevices(`${listed}\n\n${rest}`);
  expect(others).toEqual([]);
  expect(sda).toMatchObject({
    model: 'Virtual Disk',
    number: '8:0',
    sysfs: '/sys/devices/x/block/sda',
    removable: false,
  });
  expect(sda?.links).toEqual(['/dev/disk/cloud/azure_resource']);
  expect(sdb).toMatchObject({ number: '8:16', removable: true, links: [] });
  expect(md0).toMatchObject({ parents: ['/dev/sda', '/dev/sdb'], uuid: 'f', label: 'l' });
  expect(loop0).toMatchObject({ backingFile: '/srv/a b.img', parents: [] });
});

test('a slow round trip does not count as a wrong clock', () => {
  expect(leastOffset('100.0', 99, 101)).toBe(0);
  expect(leastOffset('110.0', 99, 101)).toBe(9);
  expect(leastOffset('90.0', 99, 101)).toBe(-9);
  expect(leastOffset('99.%N', 99.5, 99.7)).toBe(0);
  expect(leastOffset('90', 99, 101)).toBe(-8);
});
