import { expect, test } from 'vitest';
import { describeVerdict, drift, ok, task, type Verdict } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { keysUntil } from './ask-file.ts';

const storage = {
  endpoint: 'https://storage.example',
  region: 'eu-1',
  path_style: true,
  access_key: new Secret('AKIAEXAMPLE'),
  secret_key: new Secret('very/Secret'),
};

/** What is said of the keys before and after two downloads. */
async function said(downloads: readonly Verdict[], areThere: boolean) {
  const due = downloads.map((verdict) => task('it is downloaded', { check: async () => verdict }));
  const { before, needing } = keysUntil(storage, '/run/keys', due);
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
