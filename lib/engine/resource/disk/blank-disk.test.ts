import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { fakeHost, type Told } from '../testing/fake-host.ts';
import { formattedDisk } from './blank-disk.ts';

const block = [/^test -b/, ''] as const;
const blank = [
  block,
  [/^blkid/, { exitCode: 2 }],
  [/^wipefs/, ''],
  [/^lsblk/, 'sdb \n'],
] as const satisfies readonly (readonly [RegExp, Told])[];

test.each([
  [
    'no such disk',
    [],
    'there is no block device /dev/sdb',
    'see lsblk there, and name the disk in the inventory: docker_root: { disk: … }',
  ],
  [
    'a disk with something on it',
    [block, [/^blkid/, 'TYPE=xfs\n'], [/^wipefs/, 'xfs\n'], [/^lsblk/, 'sdb /srv\n']],
    '/dev/sdb is not blank (mounted at /srv, xfs), so it is not formatted',
    'if its file system is the one to use, mount it and name the mount point; if it may go: wipefs --all /dev/sdb',
  ],
  [
    'a disk of which nobody can tell',
    [block, [/^blkid/, { exitCode: 8, stderr: 'blkid: error' }]],
    '/dev/sdb is not blank (what blkid cannot tell, what wipefs or lsblk cannot tell), so it is not formatted',
    'if its file system is the one to use, mount it and name the mount point; if it may go: wipefs --all /dev/sdb',
  ],
  [
    'a blank one',
    blank,
    '/dev/sdb is blank, and the inventory does not say that it may be formatted',
    'say so in the inventory: docker_root: { format: true }',
  ],
] satisfies [string, readonly (readonly [RegExp, Told])[], string, string][])(
  '%s is never formatted',
  async (_, told, message, hint) => {
    const disk = formattedDisk('/dev/sdb', { format: false, label: 'p' });
    const host = fakeHost(told);
    const seen = await disk.check(host);
    expect(seen).toEqual(
      told.length === 0 ? { is: 'unknown', until: 'the block device /dev/sdb is there' } : drift(message),
    );
    await expect(disk.apply(host)).rejects.toMatchObject({ message, hint });
  },
);
