import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { type Answer, fakeHost } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { mount } from './mount.ts';

const data = mount('/data', '/dev/sdb');
const decide = 'nothing was changed; check both, and decide';

/**
 * A host with an empty fstab and an ext4 file system on /dev/sdb, except for the given answers.
 */
function host(more: readonly (readonly [RegExp, Answer])[], table = '') {
  const usual = [
    [/^mountpoint -x/, '8:16\n'],
    [/ -s UUID /, '1-2\n'],
    [/ -s TYPE /, 'ext4\n'],
    [/^mountpoint -d/, { exitCode: 1 }],
    [/^find \/data/, ''],
  ] as const;
  return fakeHost([...more, ...usual], { read: async () => Buffer.from(table) });
}

test.each([
  ['/dev/sdb holds swap, not ext4', host([[/ -s TYPE /, 'swap\n']])],
  ['another file system (device 8:32) is mounted at /data already', host([[/^mountpoint -d/, '8:32\n']])],
  ['/etc/fstab has /dev/sdz1 for /data already', host([], '/dev/sdz1 /data ext4 defaults 0 2\n')],
])('%s: it is reported beforehand, and nothing is changed', async (words, reader) => {
  expect(await data.check(reader)).toMatchObject(drift(words));
  await expect(applyDrift(reader, data)).rejects.toMatchObject({ message: words, hint: decide });
});

test('files that a mount would hide are named', async () => {
  await expect(applyDrift(host([[/^find/, '/data/letters\n']]), data)).rejects.toMatchObject({
    message: '/data is not empty: mounting there would hide /data/letters and what is with it',
    hint: decide,
  });
});
