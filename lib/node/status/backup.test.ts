import { expect, test } from 'vitest';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { readBackups } from './backup.ts';

const says = async (problems: string | undefined, modified = 1000) => {
  const host = fakeHost([[/^date/, '1060']], {
    read: async () => (problems === undefined ? undefined : Buffer.from(problems)),
    stat: async () => (problems === undefined ? undefined : { ...rootsFile, modified }),
  });
  return (await readBackups(host)).map((finding) => finding.says);
};

test('each problem of the repository is a fault', async () => {
  expect(await says('')).toEqual([]);
  expect(await says('no backup: there is no whole base backup\nrepository full: 1 MB\n')).toEqual([
    'backup: no backup: there is no whole base backup',
    'backup: repository full: 1 MB',
  ]);
});

test('a check that did not run says nothing of the backups, and is a fault itself', async () => {
  expect(await says(undefined)).toEqual(['backup: was not checked yet: a deploy sets it up']);
  expect(await says('', 0)).toEqual(['backup: was last checked 17 min 40 s ago']);
});
