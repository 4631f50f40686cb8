import { expect, test } from 'vitest';
import { drift, ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { localHost } from '../testing/local-host.ts';
import { containersMayOpen } from './open-files.ts';

/**
 * What /proc says of containerd: lines of a real host, of its limits, its status and its user
 * namespace.
 */
const process = (hard: string, capabilities: string, users = '         0          0 4294967295') =>
  `Limit                     Soft Limit           Hard Limit           Units
Max processes             unlimited            unlimited            processes
Max open files            1024                 ${hard.padEnd(20)} files
Max locked memory         8388608              8388608              bytes
Name:\tcontainerd
CapInh:\t0000000000000000
CapEff:\t${capabilities}
${users}
`;
const all = '000001ffffffffff';
const withoutResource = '000001fffeffffff';
const words = (own: number) =>
  drift(`the engine may have ${own} itself, and may not raise limits, as in a container`);

test.each([
  ['Ubuntu 24.04', '1073741816', process('524288', all), ok],
  ['a low limit of the engine, which it may raise', '1048576', process('4096', all), ok],
  ['a low limit of the kernel', '4096', process('4096', all), drift('the kernel allows 4096 (fs.nr_open)')],
  ['a container that may not raise limits', '1048576', process('4096', withoutResource), words(4096)],
  ['one whose own limit is enough', '1048576', process('20000', withoutResource), ok],
  ['a container with users of its own', '1048576', process('1024', all, '0 100000 65536'), words(1024)],
  ['an engine without a limit', '1048576', process('unlimited', withoutResource), ok],
])('whether containers may have 8192 open files: %s', async (_, kernel, engine, verdict) => {
  const host = fakeHost([
    [/nr_open/, `${kernel}\n`],
    [/uid_map/, engine],
  ]);
  expect(await containersMayOpen(8192).check(host)).toEqual(verdict);
});

test("this machine's own /proc is understood", async () => {
  expect(await containersMayOpen(16).check(localHost())).toEqual(ok);
  expect(await containersMayOpen(2 ** 31).check(localHost())).toMatchObject({
    note: expect.stringMatching(/^the kernel allows \d+ \(fs\.nr_open\)$/),
  });
});
