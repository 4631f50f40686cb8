import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PhysicalManifest, physicalManifestSchema } from '../../lib/node/variables/manifest.ts';
import { signing, webAddress } from '../../lib/node/variables/s3.ts';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { type Served, startFaultyFileServer } from './faulty-file-server.ts';
import { foreignPiece } from './foreign-piece.ts';
import { secretsOfSource, startSource, startStandby, startUnpacked, workshop } from './physical-server.ts';

// The scripts of physical snapshots, with real servers of PostgreSQL 15.

let parent: string;
let source: Postgres;
let server: Awaited<ReturnType<typeof startFaultyFileServer>>;
let shop: ReturnType<typeof workshop>;
let manifest: PhysicalManifest;
let taken: string;
let data: string;

const whole = (folder: string) => existsSync(join(folder, 'manifest.json'));

beforeAll(async () => {
  installMissing([['/usr/bin/zstd', 'zstd']]);
  parent = mkdtempSync('/var/tmp/physical-');
  // In memory: the tests write whole servers again and again.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500m,mode=711', 'tmpfs', parent]);
  source = await startSource(parent);
  shop = workshop(parent, source);
  taken = join(shop.base, 'taken');
  expect(await shop.take(taken).ended).toEqual({ code: 0, said: `the snapshot is in ${taken}\n` });
  manifest = physicalManifestSchema.parse(JSON.parse(readFileSync(join(taken, 'manifest.json'), 'utf8')));
});

beforeEach(async () => {
  server = await startFaultyFileServer();
  for (const { file } of manifest.pieces) serve(file);
  data = join(mkdtempSync(join(shop.base, 'data-')), 'state-db');
});

afterEach(() => {
  server.stop();
  shop.stopContainers();
  rmSync(dirname(data), { recursive: true, force: true });
});

afterAll(async () => {
  shop.remove();
  await source.stop();
  spawnSync('umount', ['--lazy', parent]);
  rmSync(parent, { recursive: true, force: true });
});

const content = (file: string) => readFileSync(join(taken, file));

function serve(file: string, how: Partial<Served> = {}): void {
  server.serve(`/s/${file}`, { content: content(file), ...how });
}

const unpack = (more: Readonly<Record<string, string | number>> = {}) =>
  shop.unpack(server.url('/s/'), data, manifest, more);

/** The piece in the middle, which has parts of files at both ends. */
function middlePiece() {
  const piece = manifest.pieces[Math.floor(manifest.pieces.length / 2)];
  if (!piece) throw new Error('the snapshot has no pieces');
  return piece;
}

const middle = () => middlePiece().file;

const blocks = 'select count(*), md5(string_agg(block_hash, $$,$$ order by block_num)) from state.l2block';

/** What the unpacked server holds is what the source held. */
async function expectWhole(): Promise<void> {
  const copy = await startUnpacked(parent, data);
  try {
    expect(copy.sql('new_state_db', blocks)).toBe(source.sql('source_state', blocks));
    const hashes = 'select count(*), md5(string_agg(data, $$,$$ order by hash)) from state.nodes';
    expect(copy.sql('source_state', hashes)).toBe(source.sql('source_hashes', hashes));
    expect(
      copy.sql('new_state_db', 'select rolname from pg_roles where oid >= 16384 or oid = 10 order by 1'),
    ).toBe('new_prover\nnew_state');
  } finally {
    await copy.stop();
  }
}

test('pieces have the size and SHA-256 of the manifest, and parts of files at their ends', () => {
  for (const { file, sha256, bytes } of manifest.pieces) {
    expect(createHash('sha256').update(content(file)).digest('hex')).toBe(sha256);
    expect(content(file).length).toBe(bytes);
  }
  expect(manifest.pieces.length).toBeGreaterThan(10);
  // A segment of the log has 16 MiB, and a piece 4: some hold a part of one alone.
  expect(manifest.pieces.some(({ raw, first }) => first?.bytes === raw)).toBe(true);
  expect(manifest).toMatchObject({
    block: 40_000,
    hash: `0x${(40_000).toString(16).padStart(64, '0')}`,
    postgres: 15,
    collation: null,
    migrations: ['0001.sql', '0002.sql'],
    superuser: 'state_user',
    password_hashes: true,
  });
});

test('nothing of the copy is left in the server', () => {
  expect(source.sql('postgres', 'select slot_name from pg_replication_slots')).toBe('rpc_node_replica_1');
  expect(readdirSync(taken).filter((name) => !name.startsWith('piece-'))).toEqual(['manifest.json']);
});

test('a data directory is unpacked, and has names, roles and passwords of the inventory alone', async () => {
  const { code, said } = await unpack().ended;
  expect([code, said]).toEqual([0, expect.stringContaining('the snapshot is in its place')]);
  await expectWhole();
  const copy = await startUnpacked(parent, data);
  try {
    const ask = (statement: string) => copy.sql('source_state', statement);
    expect(ask('select count(*) from pg_replication_slots')).toBe('0');
    expect(ask("select string_agg(setconfig::text, ' ') from pg_db_role_setting")).toBe(
      '{search_path=state}',
    );
    expect(ask("select pg_get_userbyid(datdba) from pg_database where datname = 'source_state'")).toBe(
      'new_prover',
    );
    expect(
      ask("select bool_and(rolpassword like 'SCRAM%') from pg_authid where oid >= 16384 or oid = 10"),
    ).toBe('t');
    expect(
      ask("select shobj_description(oid, 'pg_database') from pg_database where datname = 'new_state_db'"),
    ).toMatch(/^rpc-playbooks: \{.*"restore": "complete"/);
  } finally {
    await copy.stop();
  }
  expect(readFileSync(join(data, 'pg_hba.conf'), 'utf8')).not.toContain('10.99.88.77');
  expect(readFileSync(join(data, 'postgresql.auto.conf'), 'utf8')).toBe('');
  expect(existsSync(`${data}.rpc-node-copy`)).toBe(false);
  expect(existsSync(join(shop.base, 'passwords'))).toBe(false);
});

test('a published one has no secret, name or address of the source in any piece, and is unpacked as others are', async () => {
  const folder = join(shop.base, 'published');
  const { said } = await shop.take(folder, { PUBLISH: 'true' }).ended;
  expect(said).toBe(`the snapshot is in ${folder}\n`);
  const own = physicalManifestSchema.parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));
  const hashes = source
    .sql('postgres', 'select rolpassword from pg_authid where rolpassword is not null')
    .split('\n');
  expect(hashes).toHaveLength(3);
  const names = own.pieces.map(({ file }) => join(folder, file));
  const stream = execFileSync('zstd', ['-dcq', ...names], { maxBuffer: 2 ** 30 });
  for (const secret of [...secretsOfSource, ...hashes])
    expect([secret, stream.includes(secret)]).toEqual([secret, false]);
  // What is looked for would be found.
  expect(stream.includes('rpc_node_owner')).toBe(true);
  const whole = execFileSync('zstd', ['-dcq', ...manifest.pieces.map(({ file }) => join(taken, file))], {
    maxBuffer: 2 ** 30,
  });
  for (const secret of [...secretsOfSource.slice(2), ...hashes])
    expect([secret, whole.includes(secret)]).toEqual([secret, true]);
  expect([own.superuser, own.block, own.hash]).toEqual(['rpc_node_owner', manifest.block, manifest.hash]);
  for (const { file } of own.pieces)
    server.serve(`/p/${file}`, { content: readFileSync(join(folder, file)) });
  expect((await shop.unpack(server.url('/p/'), data, own).ended).said).toContain(
    'the snapshot is in its place',
  );
  await expectWhole();
});

test('what a standby sends is unpacked as a server of its own', async () => {
  const copied = join(shop.base, 'standby');
  const standby = await startStandby(parent, source);
  try {
    const replica = workshop(parent, standby);
    expect((await replica.take(copied).ended).said).toBe(`the snapshot is in ${copied}\n`);
    const own = physicalManifestSchema.parse(JSON.parse(readFileSync(join(copied, 'manifest.json'), 'utf8')));
    for (const { file } of own.pieces)
      server.serve(`/r/${file}`, { content: readFileSync(join(copied, file)) });
    const { said } = await shop.unpack(server.url('/r/'), data, own).ended;
    expect(said).toContain('the snapshot is in its place');
    await expectWhole();
    replica.remove();
  } finally {
    await standby.stop();
  }
});

describe('a snapshot in a storage', () => {
  let storage: Awaited<ReturnType<typeof startStorage>>;

  beforeAll(async () => {
    getStorageServer();
    storage = await startStorage();
    execFileSync('cp', ['-r', taken, join(storage.bucket, 'today')]);
  });

  afterAll(() => storage.remove());

  /** Unpacks from the storage, with the keys of an account or of the owner. */
  function unpackStored(account = storage.storage()) {
    const keys = join(shop.base, 'keys');
    writeFileSync(keys, signing(account).reveal(), { mode: 0o600 });
    const url = webAddress('s3://snapshots/today/', account);
    return shop.unpack(url, data, manifest, { SHOWN: 's3://snapshots/today/', KEYS: keys });
  }

  test('it is unpacked, and nothing of the keys is left', async () => {
    expect((await unpackStored().ended).said).toContain('the snapshot is in its place');
    expect(existsSync(join(shop.base, 'keys'))).toBe(false);
    await expectWhole();
  });

  test('the keys are withdrawn in the middle: named, nothing is in the data directory, and the next run ends it', async () => {
    const account = storage.account('AKIAGONE', 'admin');
    writeFileSync(join(shop.base, 'curl'), '#!/bin/sh\nexec /usr/bin/curl "$@" --limit-rate 2M\n', {
      mode: 0o755,
    });
    const first = unpackStored(account);
    while (!existsSync(`${data}.rpc-node-copy/done/1`)) await delay(10);
    storage.withdraw('AKIAGONE');
    const { code, said } = await first.ended;
    rmSync(join(shop.base, 'curl'));
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(
        /s3:\/\/snapshots\/today\/piece-\d+\.tar\.zst: the storage does not know the access key: correct s3\.access_key/,
      ),
    ]);
    expect([existsSync(data), existsSync(join(shop.base, 'keys'))]).toEqual([false, false]);
    expect((await unpackStored().ended).said).toContain('the snapshot is in its place');
    await expectWhole();
  });

  test.each<[string, (path: string) => void, RegExp]>([
    ['a piece is missing', (path) => rmSync(path), /there is no such file in the bucket/],
    [
      'a piece is another one',
      (path) => writeFileSync(path, content(manifest.pieces[0]?.file ?? '')),
      /is (corrupted|longer)|ends after/,
    ],
  ])('%s: named, and the next run ends it', async (_, breaks, words) => {
    const path = join(storage.bucket, 'today', middle());
    rmSync(path);
    writeFileSync(path, content(middle()));
    breaks(path);
    const { code, said } = await unpackStored().ended;
    expect([code, said]).toEqual([1, expect.stringMatching(words)]);
    expect(existsSync(data)).toBe(false);
    writeFileSync(path, content(middle()));
    expect((await unpackStored().ended).code).toBe(0);
    await expectWhole();
  });
});

describe('a run is killed', () => {
  test('while the server is copied: nothing looks whole, and the next run starts over', async () => {
    const folder = join(shop.base, 'killed');
    const first = shop.take(folder);
    while (!existsSync(join(folder, '.part/piece-000001.tar.zst'))) await delay(5);
    first.kill('SIGKILL');
    await first.ended;
    expect(whole(folder)).toBe(false);
    expect((await shop.take(folder).ended).code).toBe(0);
    expect(whole(folder)).toBe(true);
    rmSync(folder, { recursive: true });
  });

  test('while pieces are fetched: those that are unpacked are not fetched again', async () => {
    serve(middle(), { rate: 1000 });
    const first = unpack({ CONNECTIONS: 1 });
    while (server.asked(`/s/${middle()}`).length === 0) await delay(20);
    first.kill('SIGKILL');
    await first.ended;
    expect(existsSync(data)).toBe(false);
    serve(middle());
    const before = manifest.pieces.map(({ file }) => server.asked(`/s/${file}`).length);
    const { said } = await unpack({ CONNECTIONS: 1 }).ended;
    expect(said).toContain('the snapshot is in its place');
    const again = manifest.pieces.filter(
      ({ file }, at) => before[at] === 1 && server.asked(`/s/${file}`).length > 1,
    );
    expect(again.length).toBeLessThanOrEqual(1);
    await expectWhole();
  });

  test.each([
    ['when the last piece is unpacked', /all pieces are unpacked/, 0],
    ['while roles get their names', /all pieces are unpacked/, 3500],
    ['a moment later', /all pieces are unpacked/, 4500],
  ])('%s: the next run ends it', async (_, words, milliseconds) => {
    const first = unpack();
    await first.says(words);
    await delay(milliseconds);
    first.kill('SIGKILL');
    await first.ended;
    const { said } = await unpack().ended;
    if (!said.includes('holds data')) expect(said).toContain('the snapshot is in its place');
    await expectWhole();
  });
});

describe('a server of pieces goes wrong', () => {
  test.each<[string, () => void, RegExp]>([
    [
      'a wrong piece',
      () => serve(middle(), { content: content(manifest.pieces[0]?.file ?? '') }),
      /piece-\d{6}\.tar\.zst (is corrupted, or not the piece|is longer than|ends after)/,
    ],
    [
      'a piece with a changed byte',
      () => {
        const changed = content(middle());
        changed.writeUInt8(changed.readUInt8(2000) ^ 1, 2000);
        serve(middle(), { content: changed });
      },
      /is corrupted, or not the piece that the manifest names: SHA-256 [0-9a-f]{64}, wanted/,
    ],
    ['a missing piece', () => serve(middle(), { failing: { status: 404, times: 9 } }), /answers 404/],
  ])('%s: named, nothing is in the data directory, and the next run ends it', async (_, breaks, words) => {
    breaks();
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringMatching(words)]);
    expect(existsSync(data)).toBe(false);
    expect(existsSync(join(shop.base, 'passwords'))).toBe(false);
    expect(existsSync(`${data}.rpc-node-copy/pieces`)).toBe(false);
    serve(middle());
    expect((await unpack().ended).code).toBe(0);
    await expectWhole();
  });

  test('foreign files in a wrong piece are never in the data directory, also when the right piece follows', async () => {
    serve(middle(), { content: foreignPiece(middlePiece(), 'global/foreign') });
    const run = unpack();
    while (server.asked(`/s/${middle()}`).length === 0) await delay(5);
    serve(middle());
    expect((await run.ended).said).toContain('the snapshot is in its place');
    expect(server.asked(`/s/${middle()}`)).toHaveLength(2);
    expect(existsSync(join(data, 'global/foreign'))).toBe(false);
    await expectWhole();
  });

  test('a piece without an end does not fill the disk', async () => {
    serve(middle(), { content: Buffer.alloc(100 * 1024 * 1024), withoutSize: true });
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`${middle()} is longer than the`)]);
    expect(server.sent(`/s/${middle()}`)).toBeLessThan(50 * 1024 * 1024);
  });

  test('one that sends a few bytes each second is given up', async () => {
    shop.impatient();
    const sleep = join(shop.base, 'sleep');
    writeFileSync(sleep, '#!/bin/sh\nexec /usr/bin/sleep 0.01\n', { mode: 0o755 });
    serve(middle(), { rate: 1000 });
    const { code, said } = await unpack().ended;
    rmSync(sleep);
    expect([code, said]).toEqual([1, expect.stringMatching(/breaks off at \d+ of \d+ bytes: .*too slow/)]);
  });

  test.each<[string, Partial<Served>]>([
    ['that resets connections', { breaking: { times: 3, how: 'reset' } }],
    ['that stalls', { breaking: { times: 1, how: 'silence' } }],
    ['that is busy', { failing: { status: 503, times: 2 } }],
  ])('one %s: the piece goes on where it was', async (_, how) => {
    shop.impatient();
    serve(middle(), how);
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([0, expect.stringContaining('the snapshot is in its place')]);
    await expectWhole();
  });
});

test('a disk that fills up is named, and the next run goes on', async () => {
  const small = join(shop.base, 'small');
  mkdirSync(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'tmpfs', small]);
  try {
    data = join(small, 'state-db');
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringContaining('there is no room in')]);
    expect(existsSync(data)).toBe(false);
    execFileSync('mount', ['-o', 'remount,size=300m', small]);
    expect((await unpack().ended).code).toBe(0);
    await expectWhole();
  } finally {
    shop.stopContainers();
    spawnSync('umount', [small]);
  }
});

test('a piece that is not unpacked to its end is not taken for done', async () => {
  // A part of one file alone: there is no tar stream that ends too early.
  const { file = '' } = manifest.pieces.find(({ raw, first }) => first?.bytes === raw) ?? {};
  const zstd = join(shop.base, 'zstd');
  const cut = `cat >"$0.in"
    if cmp -s "$0.in" ${join(taken, file)}; then /usr/bin/zstd "$@" <"$0.in" | head -c 1000000; exit 1; fi
    exec /usr/bin/zstd "$@" <"$0.in"`;
  writeFileSync(zstd, `#!/bin/sh\n${cut}\n`, { mode: 0o755 });
  const { code, said } = await unpack({ CONNECTIONS: 1 }).ended;
  rmSync(zstd);
  expect([code, said]).toEqual([1, expect.stringContaining(`${file} cannot be unpacked`)]);
  expect((await unpack().ended).code).toBe(0);
  await expectWhole();
});

test('a server with a tablespace is refused before anything is copied', async () => {
  const folder = join(shop.base, 'tablespace');
  mkdirSync(folder);
  execFileSync('chown', ['postgres:', folder]);
  source.sql('postgres', `create tablespace elsewhere location '${folder}'`);
  const refused = join(shop.base, 'refused');
  try {
    const { code, said } = await shop.take(refused).ended;
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/pg_tblspc\/\d+ of its data directory is a link, or a tablespace/),
    ]);
    expect(readdirSync(refused)).toEqual([]);
  } finally {
    source.sql('postgres', 'drop tablespace elsewhere');
  }
});

test('other data is never touched', async () => {
  mkdirSync(data);
  writeFileSync(join(data, 'PG_VERSION'), '15');
  const { code, said } = await unpack().ended;
  expect([code, said]).toEqual([1, `${data} holds data\n`]);
  expect(readdirSync(data)).toEqual(['PG_VERSION']);
  expect(existsSync(join(shop.base, 'passwords'))).toBe(false);
});

test('a snapshot without the block of its manifest is not put in place', async () => {
  const { code, said } = await unpack({ HASH: `0x${'f'.repeat(64)}` }).ended;
  expect([code, said]).toEqual([
    1,
    expect.stringContaining('has not block 40000 of its manifest: its hash is 0x'),
  ]);
  expect(existsSync(data)).toBe(false);
});
