import { expect, test } from 'vitest';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { contextOf, type Given } from '../lib/node/testing/role-context.ts';
import recovery from './recovery.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
const backup: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
];

async function names(given: Record<string, string>, more: Given = { changes: backup }): Promise<readonly string[]> {
  return (await recovery.resources({ ...(await contextOf(more)), given })).map(({ name }) => name);
}

test('another server than that of the inventory is refused, and so is a recovery without a backup', async () => {
  await expect(names({ 'to-time': 'latest', 'to-server': 'db-9' })).rejects.toThrow(
    '--to-server db-9: the Database+Sync server of the inventory is db-1',
  );
  await expect(names({ 'to-time': 'latest' }, {})).rejects.toThrow(
    'there is no backup: the inventory has no host in group backup',
  );
});

test('a drill changes nothing on the Database+Sync server', async () => {
  expect(await names({ 'to-time': 'latest', 'to-server': 'db-1' })).toContain(
    'the recovered data directory is /data/state-db',
  );
  expect(await names({ 'to-time': 'latest', drill: '' })).toEqual([]);
  expect(await names({ 'to-time': 'latest', drill: '' }, { changes: backup, group: 'backup' })).toEqual([
    'a recovery drill to latest passes',
  ]);
  expect(await names({})).toEqual([]);
});
