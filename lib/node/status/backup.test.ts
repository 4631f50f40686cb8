import { expect, test } from 'vitest';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { readBackups } from './backup.ts';

const says = async (problems: string | undefined, modified = 1000, copied?: string) => {
  const host = fakeHost([[/^date/, '1060']], {
    read: async (path) => {
      const text = path.endsWith('/copied') ? copied : problems;
      return text === undefined ? undefined : Buffer.from(text);
    },
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

test('the age of the copy off the site is said, and is no fault', async () => {
  expect(await says('', 1000, '820 0\n')).toEqual([
    'backup: copy off the site: write-ahead log of 4 min 00 s ago, base backup none yet',
  ]);
  expect(await says('copy off the site fails: s3://b: no\n', 1000, '1060 460\n')).toEqual([
    'backup: copy off the site fails: s3://b: no',
    'backup: copy off the site: write-ahead log of 0.0 s ago, base backup of 10 min 00 s ago',
  ]);
});
