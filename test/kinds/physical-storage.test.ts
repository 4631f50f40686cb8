import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { snapshotBench } from './physical-bench.ts';

// Physical snapshots in a storage: a real S3 gateway that checks signatures.

const { bench, content, unpackStored, middle, expectWhole } = snapshotBench();
let storage: Awaited<ReturnType<typeof startStorage>>;

beforeAll(async () => {
  await getStorageServer();
  storage = await startStorage();
  execFileSync('cp', ['-r', bench.taken, join(storage.bucket, 'today')]);
});

afterAll(() => storage.remove());

const keys = () => join(bench.shop.base, 'keys');

test('it is unpacked, and nothing of the keys or the pieces is left', async () => {
  expect((await unpackStored(storage.storage()).ended).said).toContain('the snapshot is in its place');
  expect([existsSync(keys()), existsSync(`${bench.data}.rpc-node-copy`)]).toEqual([false, false]);
  await expectWhole();
});

test('the keys are withdrawn in the middle: named, nothing is in the data directory, and the next run ends it', async () => {
  const account = storage.account('AKIAGONE', 'admin');
  const curl = join(bench.shop.base, 'curl');
  writeFileSync(curl, '#!/bin/sh\nexec /usr/bin/curl "$@" --limit-rate 2M\n', { mode: 0o755 });
  const first = unpackStored(account);
  const isUnpacked = (folder: string) => existsSync(`${bench.data}.rpc-node-copy/${folder}/1`);
  while (!['done', 'kept'].some(isUnpacked)) await delay(10);
  storage.withdraw('AKIAGONE');
  const { code, said } = await first.ended;
  rmSync(curl);
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(
      /s3:\/\/snapshots\/today\/piece-\d+(\.tar)?\.zst: the storage does not know the access key: correct snapshot\.s3\.access_key/,
    ),
  ]);
  const left = [bench.data, keys(), `${bench.data}.rpc-node-copy/pieces`];
  expect(left.map((path) => existsSync(path))).toEqual([false, false, false]);
  expect((await unpackStored(storage.storage()).ended).said).toContain('the snapshot is in its place');
  await expectWhole();
});

test.each<[string, (path: string) => void, RegExp]>([
  ['a piece is missing', (path) => rmSync(path), /there is no such file in the bucket/],
  [
    'a piece is another one',
    (path) => writeFileSync(path, content(bench.manifest.pieces[0]?.file ?? '')),
    /is (corrupted|longer)|ends after/,
  ],
])('%s: named, and the next run ends it', async (_, breaks, words) => {
  const path = join(storage.bucket, 'today', middle());
  rmSync(path);
  writeFileSync(path, content(middle()));
  breaks(path);
  const { code, said } = await unpackStored(storage.storage()).ended;
  expect([code, said]).toEqual([1, expect.stringMatching(words)]);
  expect(existsSync(bench.data)).toBe(false);
  writeFileSync(path, content(middle()));
  expect((await unpackStored(storage.storage()).ended).code).toBe(0);
  await expectWhole();
});
