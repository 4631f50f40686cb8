import { expect, test } from 'vitest';
import { describeVerdict, ok } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { nothingIsLeft } from './cleaned-up.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
const changes: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
];

test.each([
  ['database', '/data/state-db/rpc-node-recovered', false],
  ['backup', '/data/backup/recovery', true],
  ['backup', '/data/backup/from-storage', false],
  // A run that was interrupted may have written the keys, and nobody reads them any more.
  ['backup', '/run/rpc-playbooks/recovery-copy-keys', false],
] as const)('on the %s host a recovery leaves no %s', async (group, path, stops) => {
  const cleanedUp = nothingIsLeft(await contextOf({ changes, group }));
  const left = fakeHost([], {
    stat: async (name) => (name === path ? rootsFile : undefined),
    unit: async () => (stops ? { ...stoppedUnit, active: 'active' } : stoppedUnit),
  });
  const seen = await cleanedUp.check(left);
  expect(describeVerdict(seen)).toBe(`${path} is there`);
  expect(JSON.stringify(seen).includes('systemctl stop')).toBe(stops);
  expect(JSON.stringify(seen)).toMatch(new RegExp(`rm -rf[^"]* ${path} `));
  expect(await cleanedUp.check(fakeHost([], { unit: async () => stoppedUnit }))).toEqual(ok);
});

test('a program that still offers the files is stopped, and named', async () => {
  const cleanedUp = nothingIsLeft(await contextOf({ changes, group: 'backup' }));
  const serves = fakeHost([], {
    unit: async (name) => (name.includes('tls') ? stoppedUnit : { ...stoppedUnit, active: 'active' }),
  });
  expect(describeVerdict(await cleanedUp.check(serves))).toBe('rpc-node-recovery-serve.service runs');
});
