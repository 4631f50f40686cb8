import { expect, test } from 'vitest';
import { drift, ok } from '../../engine/resource/resource.ts';
import { alone, fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { backupIsWhole } from './way-back.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~5';

/** What the condition says of a host whose last check of the repository found these problems. */
async function said(name: string, problems: string, given: Readonly<Record<string, string>> = {}) {
  const context = await contextOf({
    changes: [
      [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
      [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
    ],
  });
  const answers = [
    [/newest-base \/.*\/state-db$/, '2026-11-26T03:12:45Z\n'],
    [/^date/, '1000'],
  ] as const;
  const host = fakeHost(answers, {
    name,
    read: async (path) => (path.endsWith('problems') ? Buffer.from(problems) : undefined),
    stat: async () => ({ ...rootsFile, modified: 990 }),
  });
  return backupIsWhole({ ...context, given }).check(host, [], alone);
}

test('the plan says from when on the backup brings back what goes', async () => {
  expect(await said('backup-1', '')).toEqual({
    is: 'ok',
    note: 'backup-1 has a base backup of 2026-11-26T03:12:45Z, and the log since then',
  });
  expect(await said('db-1', 'gap')).toEqual(ok);
});

test('a backup that is not whole is no way back: it is refused, and shown where the block is typed', async () => {
  const gap = 'gap in the write-ahead log: A is followed by C';
  expect(await said('backup-1', gap)).toEqual(drift(`backup: ${gap}`));
  expect(await said('backup-1', gap, { to: '15' })).toEqual({
    is: 'ok',
    note: `backup-1 is no way back: backup: ${gap}`,
  });
});
