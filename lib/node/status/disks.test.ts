import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { readDisks } from './disks.ts';

test('each file system is reported once, as in df', async () => {
  const lines = [
    'overlay         102400  40960  61440      40% /',
    '/dev/vdb       2048000 204800 1843200     10% /data',
    '/dev/vdb       2048000 204800 1843200     10% /data/docker',
    '/dev/sd c1          10     10       0    100% /mnt/with space',
    'df: /gone: No such file or directory',
  ];
  expect(await readDisks(fakeHost([[/df -P/, lines.join('\n')]]), ['/'])).toEqual([
    { mount: '/', size: 104_857_600, used: 41_943_040, available: 62_914_560, usedPercent: 40 },
    { mount: '/data', size: 2_097_152_000, used: 209_715_200, available: 1_887_436_800, usedPercent: 10 },
    { mount: '/mnt/with space', size: 10_240, used: 10_240, available: 0, usedPercent: 100 },
  ]);
});
