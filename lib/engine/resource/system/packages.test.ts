import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { packages } from './packages.ts';

test('the name lists the packages', () => {
  expect(packages('chrony', 'g++', 'libc6.1').name).toBe('packages chrony, g++, libc6.1');
});

test.each(['-y', 'a b', 'UPPER', 'x=1.0', '', '$(id)'])('%j is refused as a package', (name) => {
  expect(() => packages(name)).toThrow('no name of a package');
});

test('another distribution is reported with what can be done', async () => {
  const host = fakeHost([]);
  const chrony = packages('chrony', 'curl');
  expect(await chrony.check(host)).toEqual(drift('there is no dpkg and apt on this host, so nothing can be installed'));
  await expect(chrony.apply(host)).rejects.toMatchObject({
    message: 'there is no dpkg and apt on this host, so nothing can be installed',
    hint: 'use Debian or Ubuntu, or install by hand: chrony curl',
  });
});

test('if packages cannot be installed because the lists could not be fetched, both are reported', async () => {
  const host = fakeHost([
    [/^command -v dpkg-query/, ''],
    [/apt-get -q update/, { exitCode: 100, stderr: 'E: The repository http://gone has no Release file.' }],
    [/apt-get .* install chrony/s, { exitCode: 100, stderr: 'E: Unable to locate package chrony' }],
  ]);
  await expect(packages('chrony').apply(host)).rejects.toMatchObject({
    message: expect.stringMatching(
      /Unable to locate package chrony\nthe package lists could not be fetched either: .*\nE: The repository http:\/\/gone/,
    ),
    hint: 'check that the mirrors in /etc/apt/sources.list and sources.list.d can be reached from there: apt-get update',
  });
});
