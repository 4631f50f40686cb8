import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';
import { startFaultyFileServer } from './faulty-file-server.ts';
import { startSource, type UnpackedManifest, workshop } from './physical-server.ts';

let parent: string;
let source: Postgres;
let server: Awaited<ReturnType<typeof startFaultyFileServer>>;
let shop: ReturnType<typeof workshop>;
let manifest: UnpackedManifest;
let taken: string;

beforeAll(async () => {
  installMissing([['/usr/bin/zstd', 'zstd']]);
  parent = mkdtempSync('/var/tmp/physical-');
  chmodSync(parent, 0o711);
  source = await startSource(parent);
  server = await startFaultyFileServer();
  shop = workshop(parent, source);
  taken = join(shop.base, 'taken');
  expect(await shop.take(taken).ended).toEqual({ code: 0, said: `the snapshot is in ${taken}\n` });
  manifest = JSON.parse(readFileSync(join(taken, 'manifest.json'), 'utf8'));
}, 120_000);

afterAll(async () => {
  server.stop();
  shop.remove();
  await source.stop();
  rmSync(parent, { recursive: true, force: true });
});

test('pieces', async () => {
  console.log(
    JSON.stringify({ ...manifest, pieces: manifest.pieces.slice(0, 5) }, undefined, 1),
    manifest.pieces.length,
  );
  for (const { file, sha256, bytes } of manifest.pieces) {
    const content = readFileSync(join(taken, file));
    server.serve(`/s/${file}`, { content });
    expect([createHash('sha256').update(content).digest('hex'), content.length]).toEqual([sha256, bytes]);
  }
  const data = join(shop.base, 'state-db');
  console.log(await shop.unpack(server.url('/s/'), data, manifest).ended);
  console.log(existsSync(data) && readdirSync(data));
}, 120_000);
