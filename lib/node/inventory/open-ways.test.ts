import { expect, test } from 'vitest';
import { describeProblem } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';
import { openWays } from './open-ways.ts';

const warnings = async (changes: Changes) =>
  ((await loadDeployment(await labDeployment(changes))).warnings ?? []).map(describeProblem);

test.each([
  ['0.0.0.0/0', true],
  ['::/0', true],
  ['128.0.0.0/1', true],
  ['10.0.0.0/8', false],
  ['192.0.2.7', false],
  ['fd00::/8', false],
])('databases that are open to everybody are a warning, once: %s', async (network, warns) => {
  const found = await warnings([[['vars', 'firewall'], { internal: ['10.0.0.0/8', network] }]]);
  expect(found.map((text) => text.replace(/^\S+:\d+:\d+: /, ''))).toEqual(
    warns
      ? [
          `firewall.internal has ${network}: everybody may connect to the databases and provers\n  name the networks of your own machines; the hosts of the inventory are let in without it`,
        ]
      : [],
  );
});

test.each([
  ['http://files/manifest.json', true],
  ['https://files/manifest.json', false],
  ['s3://files/manifest.json', false],
  ['manifest.json', false],
])('a manifest that somebody on the way can change is a warning: %s', (manifest, warns) => {
  const host = { name: 'db-1', vars: { firewall: { internal: [] }, snapshot: { manifest } } };
  const found = openWays({ hosts: [host, host], placeOf: () => ({ file: 'one.yaml', line: 7 }) } as never);
  expect(found.map(({ message }) => message)).toEqual(
    warns
      ? [
          'snapshot.manifest comes over http://, and has the checksums of the snapshot: somebody between you and the web server can change both',
        ]
      : [],
  );
});

test('an inventory that leaves nothing open has no warning', async () => {
  expect(await warnings([])).toEqual([]);
});
