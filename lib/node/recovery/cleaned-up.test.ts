import { expect, test } from 'vitest';
import sync from '../../../roles/sync.ts';
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

test('a deploy that ends an interrupted recovery removes its mark before sync starts', async () => {
  const resources = await sync.resources({ ...(await contextOf({})), given: {} });
  const at = resources.findIndex(({ name }) => name === 'no mark of a recovery is left');
  expect(at).toBe(
    resources.findIndex(({ everyHost }) => everyHost?.name.startsWith('no other synchronizer')) - 1,
  );
  const mark = '/data/state-db/rpc-node-recovered';
  const left = fakeHost([], { stat: async (path) => (path === mark ? rootsFile : undefined) });
  const seen = await resources[at]?.check(left);
  expect(seen).toMatchObject({ note: `${mark} is there`, change: [{ command: `rm -f ${mark}` }] });
  expect(await resources[at]?.check(fakeHost([]))).toEqual(ok);
});
