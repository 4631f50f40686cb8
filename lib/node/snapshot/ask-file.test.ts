import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { describeVerdict, drift, ok, task, type Verdict } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { localHost } from '../testing/local-host.ts';
import { askFile, keysUntil } from './ask-file.ts';

const storage = {
  endpoint: 'https://storage.example',
  region: 'eu-1',
  path_style: true,
  access_key: new Secret('AKIAEXAMPLE'),
  secret_key: new Secret('very/Secret'),
};

/** What is said of the keys before and after two downloads. */
async function said(downloads: readonly Verdict[], areThere: boolean, address = 's3://bucket/a') {
  const due = downloads.map((verdict) => task('it is downloaded', { check: async () => verdict }));
  const { before, needing } = keysUntil(storage, '/run/keys', due, ['http://files/a', address]);
  const host = fakeHost([], { stat: async () => (areThere ? rootsFile : undefined) });
  const all = await Promise.all([...before.slice(-1), ...needing.slice(-1)].map((each) => each.check(host)));
  return { verdicts: all.map(describeVerdict), change: all.at(-1) };
}

test('keys are put on a host while one of the downloads is due', async () => {
  const { verdicts } = await said([ok, drift('absent')], false);
  expect(verdicts).toEqual([
    expect.stringContaining('absent'),
    expect.stringContaining('unknown until what needs them is done'),
  ]);
});

test('keys are removed after the downloads, and not put there again', async () => {
  expect((await said([ok, ok], false)).verdicts).toEqual(['ok', 'ok']);
  const left = await said([ok, ok], true);
  expect(left.verdicts).toEqual(['ok', '/run/keys is there']);
  expect(left.change).toMatchObject({ change: [{ command: 'rm -f /run/keys' }] });
});

test('no keys are put on a host that fetches nothing from the storage', async () => {
  expect((await said([drift('absent')], false, 'file:///mnt/a')).verdicts).toEqual(['absent']);
});

test('a file on the host is read there: its size and its beginning, or why it cannot be read', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'piece'), 'PGDMP\n1\n');
  const asked = (name: string) => askFile(localHost(), `file://${folder}/${name}`, undefined, 7);
  expect(await asked('piece')).toEqual({
    answered: true,
    status: 200,
    size: 8,
    body: Buffer.from('PGDMP\n1'),
  });
  expect(await asked('other')).toEqual({ answered: false, why: 'No such file or directory' });
  expect(await asked('.')).toEqual({ answered: false, why: 'Is a directory' });
});
