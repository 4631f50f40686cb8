import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { describeVerdict, drift, ok, refused, task } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Variables } from '../variables/variables.ts';
import type { JudgeManifest } from './judge-manifest.ts';
import { snapshotIsUploaded } from './uploaded.ts';

const storage = {
  endpoint: 'https://storage.example',
  region: 'eu-1',
  path_style: true,
  access_key: new Secret('AKIAEXAMPLE'),
  secret_key: new Secret('very/Secret'),
};
const vars = { paths: { data: '/data' }, snapshot: { connections: 1 } } as Variables;
const folder = '/data/snapshot-to-send/snapshots/today';

const first = 'piece-000000.tar.zst';

/** A manifest is right if it says so, and its piece is there. */
const isWanted: JudgeManifest = (text, folder, has) =>
  text === 'right' && has(first, 10) ? ok : refused(`${folder} is another one`, 'name another folder');

/** What a resource says of a storage with these names, on a host that has these files. */
async function said(
  word: string,
  names: Output,
  files: readonly string[] = [],
  manifest = 'right',
): Promise<string> {
  const all = snapshotIsUploaded({ vars }, storage, 's3://snapshots/today', { take: () => [], isWanted });
  const resource = all.find(({ name }) => name.includes(word));
  const host = fakeHost([], {
    $: shell(async (line) =>
      line.includes('list-storage')
        ? names
        : new Output(0, Buffer.from(`HTTP/1.1 206 Partial\r\n\r\n${manifest}`), ''),
    ),
    stat: async (path) => (files.includes(path) ? { ...rootsFile, type: 'directory' } : undefined),
  });
  if (!resource) throw new Error(`nothing is called ${word}`);
  return describeVerdict(await resource.check(host));
}
const names = (...all: readonly string[]) =>
  new Output(0, Buffer.from(all.map((each) => `10 ${each}`).join('\n')), '');

test('a snapshot is sent when its manifest is in the storage, and nothing is left on the host', async () => {
  const sent = names('manifest.json', first);
  expect(await said('snapshot is in', sent)).toBe('ok');
  expect(await said('snapshot is in', sent, [`${folder}.sent`])).toBe(`${folder} is still there`);
  expect(await said('snapshot is in', names(first))).toBe(
    'snapshot: absent -> s3://snapshots/today/manifest.json',
  );
});

test('a snapshot of something else in the storage is never taken for the one that is asked for', async () => {
  const sent = names('manifest.json', first);
  for (const word of ['snapshot is in', 'is free'])
    expect(await said(word, sent, [], 'of others')).toBe('s3://snapshots/today is another one');
  expect(await said('is free', sent)).toBe('ok');
  expect(await said('is free', names('manifest.json'))).toBe('s3://snapshots/today is another one');
});

test('a manifest in a folder of the folder is not the one that is asked for', async () => {
  const sent = names('today/manifest.json', `today/${first}`);
  expect(await said('snapshot is in', sent)).toContain('snapshot: absent');
  expect(await said('is free', sent)).toBe(
    's3://snapshots/today holds today/manifest.json, which is not of a snapshot that this host sends',
  );
});

test('pieces beyond the names that a storage lists are not missed', async () => {
  const many = Array.from({ length: 999 }, (_, at) => `piece-${String(at).padStart(6, '0')}.tar.zst`);
  const wants =
    (file: string): JudgeManifest =>
    (_, __, has) =>
      has(file, 10) ? ok : refused('missing', '');
  const judged = async (file: string, listed: readonly string[]) => {
    const all = snapshotIsUploaded({ vars }, storage, 's3://snapshots/today', {
      take: () => [],
      isWanted: wants(file),
    });
    const host = fakeHost(
      [
        [/list-storage/, `10 manifest.json\n${listed.map((each) => `10 ${each}`).join('\n')}`],
        [/./, 'HTTP/1.1 200 OK\r\n\r\n{}'],
      ],
      { stat: async () => undefined },
    );
    const verdict = await all.at(-1)?.check(host);
    return verdict && describeVerdict(verdict);
  };
  expect(await judged('piece-001234.tar.zst', many)).toBe('ok');
  expect(
    await judged(
      'piece-000500.tar.zst',
      many.filter((name) => !name.includes('0500')),
    ),
  ).toBe('missing');
  expect(await judged('piece-001234.tar.zst', many.slice(1))).toBe('missing');
});

test('pieces without a manifest are those of this host only while it sends them', async () => {
  const half = names(first);
  expect(await said('is free', half, [`${folder}/.upload`])).toBe('ok');
  expect(await said('is free', half)).toBe(
    's3://snapshots/today holds piece-000000.tar.zst, which is not of a snapshot that this host sends',
  );
});

test('without curl the storage is asked later', async () => {
  const without = new Output(3, Buffer.alloc(0), 'curl is not installed\n');
  expect(await said('is free', without)).toContain('curl is installed');
});

test('the keys are put there for the trial, and again for the upload', () => {
  const snapshot = task('a snapshot is taken', { check: async () => drift('not taken') });
  const all = snapshotIsUploaded({ vars }, storage, 's3://snapshots/today', {
    take: () => [snapshot],
    isWanted,
  });
  expect(all.map(({ name }) => name).slice(-6)).toEqual([
    'directory /run/rpc-playbooks',
    'file /run/rpc-playbooks/storage-upload',
    'a snapshot is taken',
    'directory /run/rpc-playbooks',
    'file /run/rpc-playbooks/storage-upload',
    'snapshot is in s3://snapshots/today',
  ]);
});

test('a trial that fails leaves no keys', () => {
  const path = mkdtempSync(join(tmpdir(), 'uploaded-'));
  const keys = join(path, 'keys');
  writeFileSync(keys, 'user = "a:b"\n');
  let script = '';
  snapshotIsUploaded({ vars }, { ...storage, endpoint: 'http://127.0.0.1:9' }, 's3://snapshots/today', {
    take: (_, before) => {
      script = before.replaceAll('/run/rpc-playbooks/storage-upload', keys);
      return [];
    },
    isWanted,
  });
  const env = { PATH: `${path}:${process.env.PATH}` };
  writeFileSync(join(path, 'sleep'), '#!/bin/sh\n', { mode: 0o755 });
  const { status, stderr } = spawnSync('sh', ['-c', script], { env, encoding: 'utf8', timeout: 60_000 });
  expect([status, stderr]).toEqual([1, expect.stringContaining('s3://snapshots/today/manifest.json')]);
  expect(existsSync(keys)).toBe(false);
  rmSync(path, { recursive: true });
});
