import { expect, test } from 'vitest';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { sound } from '../testing/role-context.ts';
import { goWillBeNewEnough, installedGo, judgeGo } from './go.ts';

test.each([
  ['go version go1.19.8 linux/amd64', '1.19.8'],
  ['go version go1.21 linux/amd64', '1.21'],
  ['go version go1.26.8 X:nodwarf5 linux/amd64', '1.26.8'],
  ['go version devel go1.23-abcdef linux/arm64', '1.23'],
  ['', undefined],
])('the installed version is read from %j', async (output, version) => {
  expect(await installedGo(fakeHost([[/go version/, output]]))).toBe(version);
});

test.each([
  ['1.21', '1.21', true],
  ['1.21.3', '1.9', true],
  ['1.9', '1.21', false],
  ['2.0', '1.21', true],
])('versions are compared as numbers: %s for %s', (found, wanted, enough) => {
  expect(judgeGo(found, wanted).is).toBe(enough ? 'ok' : 'drift');
});

const policy = (candidate: string) => `golang-go:
  Installed: (none)
  Candidate: ${candidate}
  Version table:
     2:1.23~2~bpo12+1 100
        100 http://deb.debian.org/debian bookworm-backports/main amd64 Packages
`;
const debian12 = sound.distribution;
const distribution = (id: string, version: string) => ({
  id,
  version,
  codename: '',
  title: `${id} ${version}`,
});

test.each<[what: string, found: { go?: Answer; apt?: Answer }, on: typeof debian12, Verdict]>([
  ['an installed Go', { go: 'go version go1.21.13 linux/amd64\n', apt: policy('2:1.19~1') }, debian12, ok],
  [
    'an old installed Go, whatever could be installed: it would stay',
    { go: 'go version go1.20.1 linux/amd64\n', apt: policy('2:1.24~2') },
    debian12,
    drift('Go 1.20.1 is installed, and the restore tool needs 1.21'),
  ],
  ['a package that is new enough', { apt: policy('2:1.23~2~bpo12+1') }, debian12, ok],
  [
    'a package that is too old, with a later one that is not the candidate',
    { apt: policy('2:1.19~1') },
    debian12,
    drift('the package golang-go has Go 1.19, and the restore tool needs 1.21'),
  ],
  ['a package without an epoch', { apt: policy('1.21.1-1~ubuntu22.04.4') }, debian12, ok],
  [
    'no candidate',
    { apt: policy('(none)') },
    debian12,
    drift(
      'golang-go of Debian GNU/Linux 12 (bookworm) has Go 1.19 (no package list of the host has it yet), and the restore tool needs 1.21',
    ),
  ],
  [
    'no package lists on Ubuntu 22.04',
    { apt: '' },
    distribution('ubuntu', '22.04'),
    drift(
      'golang-go of ubuntu 22.04 has Go 1.18 (no package list of the host has it yet), and the restore tool needs 1.21',
    ),
  ],
  ['no package lists on Ubuntu 24.04', { apt: '' }, distribution('ubuntu', '24.04'), ok],
  ['no package lists on Debian 13', { apt: '' }, distribution('debian', '13'), ok],
  ['a distribution that its own check refuses', {}, distribution('fedora', '40'), ok],
])('%s', async (_, { go, apt }, on, verdict) => {
  const answers = [
    ...(go === undefined ? [] : [[/go version/, go] as const]),
    ...(apt === undefined ? [] : [[/^apt-cache .* policy golang-go$/, apt] as const]),
  ];
  expect(await goWillBeNewEnough(fakeHost(answers), on, '1.21')).toEqual(verdict);
});
