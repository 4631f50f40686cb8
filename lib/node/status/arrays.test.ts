import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { localHost } from '../testing/local-host.ts';
import { readArrays } from './arrays.ts';

/** What status says of a host with this /proc/mdstat, and with these states of ZFS's pools. */
async function says(mdstat?: string, pools: Readonly<Record<string, string>> = {}) {
  const folder = temporaryDirectory();
  if (mdstat !== undefined) writeFileSync(join(folder, 'mdstat'), mdstat);
  for (const [name, state] of Object.entries(pools)) {
    mkdirSync(join(folder, 'spl/kstat/zfs', name), { recursive: true });
    writeFileSync(join(folder, 'spl/kstat/zfs', name, 'state'), `${state}\n`);
  }
  const found = await readArrays(localHost(), folder);
  expect(found.every(({ is, fault }) => is === 'degraded-array' && fault)).toBe(true);
  return found.map((finding) => finding.says);
}

// Of servers with two and four disks.
const whole = `Personalities : [raid1] [linear] [multipath] [raid0] [raid6] [raid5] [raid4] [raid10]
md1 : active raid1 sdb4[1] sda4[0]
      1951807488 blocks super 1.2 [2/2] [UU]
      [=>...................]  resync =  6.7% (131409024/1951807488) finish=330.8min speed=91690K/sec
      bitmap: 15/15 pages [60KB], 65536KB chunk

md0 : active raid1 sdb2[1] sda2[0]
      523264 blocks super 1.2 [2/2] [UU]
      bitmap: 0/1 pages [0KB], 65536KB chunk

md4 : active raid0 sdl[1] sdk[0]
      2000 blocks super 1.2 512k chunks

unused devices: <none>
`;

test('arrays with all their disks, and a host without arrays, give no finding', async () => {
  expect(await says()).toEqual([]);
  expect(await says(whole, { tank: 'ONLINE' })).toEqual([]);
  expect(await says('Personalities : \nunused devices: <none>\n')).toEqual([]);
});

test('an array that has lost a disk is named', async () => {
  const one = whole
    .replace('sdb2[1] sda2[0]', 'sdb2[1] sda2[0](F)')
    .replace('264 blocks super 1.2 [2/2] [UU]', '264 blocks super 1.2 [2/1] [_U]');
  expect(await says(one)).toEqual(['disk: md0 has 1 of 2 disks']);
  expect(await says(undefined, { rpool: 'ONLINE', tank: 'DEGRADED' })).toEqual([
    'disk: pool tank of ZFS is DEGRADED',
  ]);
});

test('an array that is being rebuilt lacks a disk until its end', async () => {
  const text = `Personalities : [raid6] [raid5] [raid4] [linear] [multipath] [raid0] [raid1] [raid10]
md0 : active raid6 sde1[4](S) sdd1[5] sdb1[2] sda1[3]
      3907023872 blocks level 6, 64k chunk, algorithm 2 [4/2] [__UU]
      [>....................]  recovery =  0.0% (1777528/1953511936) finish=475.7min speed=68366K/sec

unused devices: <none>
`;
  expect(await says(text)).toEqual(['disk: md0 has 2 of 4 disks, and is being rebuilt']);
});
