import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../lib/engine/resource/resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../lib/engine/resource/testing/fake-host.ts';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { contextOf } from '../lib/node/testing/role-context.ts';
import recoveryEnd from './recovery-end.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
const changes: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
];

const resources = async (group: 'database' | 'backup', given: Readonly<Record<string, string>>) =>
  recoveryEnd.resources({ ...(await contextOf({ changes, group })), given });

test.each([
  ['database', '/data/state-db/rpc-node-recovered', false],
  ['backup', '/data/backup/recovery', true],
] as const)('on the %s host a recovery leaves no %s', async (group, path, stops) => {
  const [cleanedUp] = await resources(group, { 'to-time': 'latest' });
  if (!cleanedUp) throw new Error('a recovery is cleaned up');
  const left = fakeHost([], {
    stat: async (name) => (name === path ? rootsFile : undefined),
    unit: async () => stoppedUnit,
  });
  const seen = await cleanedUp.check(left);
  expect(describeVerdict(seen)).toBe(`${path} is there`);
  expect(JSON.stringify(seen).includes('systemctl stop')).toBe(stops);
  expect(await cleanedUp.check(fakeHost([], { unit: async () => stoppedUnit }))).toEqual(ok);
});

test('without a recovery, and after a drill, nothing is looked for', async () => {
  expect(await resources('backup', {})).toEqual([]);
  expect(await resources('backup', { 'to-time': 'latest', drill: '' })).toEqual([]);
});
