import { beforeAll, beforeEach, expect, test } from 'vitest';
import { write } from '../../lib/engine/host/step.ts';
import { mount } from '../../lib/engine/resource/disk/mount.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

const target = '/mnt/kinds test';
const table = '# kept as it is\n\tproc  /proc\tproc defaults 0 0\n';

let host: TestHost;
let device: string;
let uuid: string;

beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  // The host is for this test alone, so its data disk may be used up.
  device = (await host.run`findmnt -rno SOURCE --mountpoint /data`).text();
  // If / is not shared, as in a container, logind keeps unmounted file systems.
  await host.run`systemctl stop systemd-logind; umount /data`;
  return scratch.remove;
});
beforeEach(async () => {
  await host.run`umount -q ${target} || true; rm -rf ${target}; wipefs -q -a ${device}; mkfs.ext4 -q -F ${device}`;
  await makeSteps(host, write('/etc/fstab', table));
  uuid = (await host.$`blkid -p -o value -s UUID ${device}`).text();
});

const wanted = () => mount(target, device);
const line = () => `UUID=${uuid} /mnt/kinds\\040test ext4 defaults,nofail 0 2`;
const fstab = async () => (await host.read('/etc/fstab'))?.toString();

test('it is mounted, and in fstab by its UUID; other lines stay byte for byte', async () => {
  const differences = await converge(host, wanted());
  expect(differences).toEqual([
    { what: '/etc/fstab', was: '', wanted: line() },
    { what: target, was: 'not mounted', wanted: `${device} mounted` },
  ]);
  expect(await fstab()).toBe(`${table}${line()}\n`);
  expect((await host.$`findmnt -rno FSTYPE --mountpoint ${target}`).text()).toBe('ext4');
  await host.run`umount ${target} && mount ${target}`;
  expect(await wanted().check(host)).toEqual({ is: 'ok' });
});

test('an unmounted target is mounted again, with fstab unchanged', async () => {
  await converge(host, wanted());
  const before = await host.stat('/etc/fstab');
  await host.run`umount ${target}`;
  expect(await converge(host, wanted())).toMatchObject([{ was: 'not mounted' }]);
  expect(await host.stat('/etc/fstab')).toEqual(before);
});

test('a line of the same device by its name is replaced in its place', async () => {
  const last = 'tmpfs /elsewhere tmpfs noauto 0 0\n';
  const old = `${device} /mnt/kinds\\040test ext4 defaults 0 0\n`;
  await makeSteps(host, write('/etc/fstab', `${table}${old}${last}`, { mode: 0o600 }));
  await converge(host, wanted());
  expect(await fstab()).toBe(`${table}${line()}\n${last}`);
  expect((await host.stat('/etc/fstab'))?.mode).toBe(0o600);
});

/**
 * Check gives the reason, apply refuses for the same reason, and neither fstab nor mounts change.
 */
async function refused(why: string) {
  const [before, mounts] = [await fstab(), (await host.$`cat /proc/mounts`).stdout];
  expect(await wanted().check(host)).toMatchObject({ is: 'drift' });
  await expect(applyDrift(host, wanted())).rejects.toThrow(why);
  expect(await fstab()).toBe(before);
  expect((await host.$`cat /proc/mounts`).stdout).toBe(mounts);
}

test('another file system on the device is not changed', async () => {
  await host.run`wipefs -q -a ${device} && mkswap ${device}`;
  await refused('holds swap, not ext4');
});

test('a line of another device for the target is not replaced', async () => {
  await makeSteps(host, write('/etc/fstab', '/dev/sdz1 /mnt/kinds\\040test ext4 defaults 0 2\n'));
  await refused('has /dev/sdz1 for');
});

test('a directory that is not empty is not hidden', async () => {
  await host.run`mkdir -p ${target} && echo precious > ${`${target}/file`}`;
  await refused('is not empty');
});

test('another file system that is mounted there stays', async () => {
  await host.run`mkdir -p ${target} && mount -t tmpfs other ${target}`;
  await refused('is mounted at');
});

test('a missing or blank device is an unknown state', async () => {
  const missing = mount(target, '/dev/not-here');
  expect(await missing.check(host)).toEqual({
    is: 'unknown',
    until: 'the block device /dev/not-here is there',
  });
  await host.run`wipefs -q -a ${device}`;
  expect(await wanted().check(host)).toEqual({ is: 'unknown', until: `there is a file system on ${device}` });
});
