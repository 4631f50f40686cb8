import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { type Answer, fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { formattedDisk } from './blank-disk.ts';

const block = [/^test -b/, ''] as const;
const blank = [
  block,
  [/^blkid/, { exitCode: 2 }],
  [/^wipefs/, ''],
  [/^lsblk/, 'sdb \n'],
] as const satisfies readonly (readonly [RegExp, Answer])[];

test.each([
  [
    'no such disk',
    [],
    '/dev/sdb has a file system: unknown until the block device /dev/sdb is there',
    'see lsblk there, and name the disk in the inventory: docker_root: { disk: … }',
  ],
  [
    'a disk with something on it',
    [block, [/^blkid/, 'TYPE=xfs\n'], [/^wipefs/, 'xfs\n'], [/^lsblk/, 'sdb /srv\n']],
    '/dev/sdb is not blank (mounted at /srv, xfs), so it is not formatted',
    'to use its file system, mount it and name the mount point; to erase it: wipefs --all /dev/sdb',
  ],
  [
    'a disk that no program can identify',
    [block, [/^blkid/, { exitCode: 8, stderr: 'blkid: error' }]],
    '/dev/sdb is not blank (what blkid cannot identify, what wipefs or lsblk cannot identify), so it is not formatted',
    'to use its file system, mount it and name the mount point; to erase it: wipefs --all /dev/sdb',
  ],
  [
    'a blank one',
    blank,
    '/dev/sdb is blank, and the inventory does not allow to format it',
    'to allow it, set in the inventory: docker_root: { format: true }',
  ],
] satisfies [string, readonly (readonly [RegExp, Answer])[], string, string][])(
  '%s is never formatted',
  async (_, answers, message, hint) => {
    const disk = formattedDisk('/dev/sdb', { format: false, label: 'p' });
    const host = fakeHost(answers);
    const seen = await disk.check(host);
    expect(seen).toMatchObject(
      answers.length === 0 ? { is: 'unknown', until: 'the block device /dev/sdb is there' } : drift(message),
    );
    await expect(applyDrift(host, disk)).rejects.toMatchObject({ message, hint });
  },
);
