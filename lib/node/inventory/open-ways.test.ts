import { expect, test } from 'vitest';
import { describeProblem } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

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
  expect(found).toEqual(
    warns
      ? [
          expect.stringMatching(
            new RegExp(
              `:\\d+:\\d+: firewall\\.internal has ${network}: everybody may connect to the databases and provers\\n.*name the networks of your own machines`,
            ),
          ),
        ]
      : [],
  );
});

test('an inventory that leaves nothing open has no warning', async () => {
  expect(await warnings([])).toEqual([]);
});
