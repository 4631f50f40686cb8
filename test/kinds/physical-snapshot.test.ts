import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inAllForms } from '../faults/seed.ts';
import { snapshotBench } from './physical-bench.ts';
import {
  contentOf,
  manifestOf,
  membersOf,
  secretsOfSource,
  startStandby,
  startUnpacked,
  workshop,
} from './physical-server.ts';

// The scripts of physical snapshots, with real servers of PostgreSQL 15.

const { bench, content, unpack, expectWhole } = snapshotBench();

/** The files in a folder that `find` selects. */
const list = (folder: string, ...words: string[]) =>
  execFileSync('find', [folder, '-type', 'f', ...words], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

/** In a folder of programs, one that runs a script where its words have some text. */
function failing(base: string, program: string, words: string, script: string): void {
  const own = `#!/bin/sh\ncase "$*" in *'${words}'*) ${script} ;; esac\nexec /usr/bin/${program} "$@"\n`;
  writeFileSync(join(base, program), own, { mode: 0o755 });
}

/** Serves the snapshot in a folder, and unpacks it. */
function unpackFrom(folder: string) {
  const manifest = manifestOf(folder);
  for (const { file } of manifest.pieces)
    bench.server.serve(`/other/${file}`, { content: readFileSync(join(folder, file)) });
  return bench.shop.unpack(bench.server.url('/other/'), bench.data, manifest).ended;
}

test('pieces have the size and SHA-256 of the manifest, and parts of files at their ends', () => {
  for (const { file, sha256, bytes } of bench.manifest.pieces) {
    expect(createHash('sha256').update(content(file)).digest('hex')).toBe(sha256);
    expect(content(file).length).toBe(bytes);
  }
  expect(bench.manifest.pieces.length).toBeGreaterThan(10);
  // A segment of the log has 16 MiB, and a piece 4: some hold a part of one alone. A table has pieces of its own.
  const parts = bench.manifest.pieces.filter(({ raw, first }) => first?.bytes === raw);
  expect(
    parts.some(({ file, first }) => file.endsWith('.tar.zst') && first?.path.startsWith('pg_wal/')),
  ).toBe(true);
  expect(parts.some(({ file, first }) => !file.includes('tar') && first?.at === 4 * 1024 ** 2)).toBe(true);
  expect(list(bench.taken, '-perm', '/077')).toEqual([]);
  expect(bench.manifest).toMatchObject({
    block: 40_000,
    hash: `0x${(40_000).toString(16).padStart(64, '0')}`,
    postgres: 15,
    collation: null,
    migrations: ['0001.sql', '0002.sql'],
    superuser: 'state_user',
    password_hashes: true,
    image: 'registry.example:5000/own/postgres@sha256:feed',
  });
});

test('an image without zstd gets the large files through the zstd of the host', async () => {
  writeFileSync(join(bench.shop.base, 'no-zstd'), '');
  try {
    expect((await unpack().ended).said).toContain('the snapshot is in its place');
  } finally {
    rmSync(join(bench.shop.base, 'no-zstd'));
  }
  await expectWhole();
});

test('a large file that has become empty, or has gone, before it is sent stops no snapshot', async () => {
  const data = bench.source.sql('postgres', 'show data_directory');
  const empty =
    list(join(data, 'base'), '-size', '0')
      .at(0)
      ?.slice(data.length + 1) ?? '';
  const shop = workshop(bench.parent, bench.source);
  renameSync(join(shop.base, 'docker'), join(shop.base, 'docker.own'));
  writeFileSync(
    join(shop.base, 'docker'),
    `#!/bin/sh
${shop.base}/docker.own "$@" || exit
case "$*" in *'find base'*) printf '%s\\n' ${empty} base/1/999999 ;; esac`,
    { mode: 0o755 },
  );
  const folder = join(shop.base, 'changed');
  expect((await shop.take(folder).ended).said).toBe(`the snapshot is in ${folder}\n`);
  expect(manifestOf(folder).pieces.filter(({ raw }) => raw === 0)).toMatchObject([
    { first: { path: empty, at: 0, bytes: 0 } },
  ]);
  expect((await unpackFrom(folder)).said).toContain('the snapshot is in its place');
  await expectWhole();
  expect(statSync(join(bench.data, empty)).size).toBe(0);
  shop.remove();
});

const broken = 'echo "zstd: error 70 : Write error" >&2; exit 70';

test.each([
  ['zstd', 'piece-000001.zst', broken, 'the pieces cannot be written: zstd: error 70'],
  ['zstd', 'piece-000001.tar.zst', broken, 'the pieces cannot be written: zstd: error 70'],
  ['tar', '--extract', 'head -c 100000 >/dev/null; kill -9 $$', 'the pieces cannot be written: Killed'],
  ['dd', 'fullblock', 'echo "dd: error reading" >&2; exit 1', 'the pieces cannot be written: dd: error'],
  ['bsdtar', '--include', 'echo "bsdtar: Damaged" >&2; cat >/dev/null; exit 1', 'written: bsdtar: Damaged'],
])('pieces that %s does not cut to the end make no snapshot: %s', async (program, words, script, said) => {
  const shop = workshop(bench.parent, bench.source);
  failing(shop.base, program, words, script);
  const folder = join(shop.base, 'cut');
  expect(await shop.take(folder).ended).toEqual({ code: 1, said: expect.stringContaining(said) });
  expect(readdirSync(folder)).toEqual([]);
  shop.remove();
});

inAllForms('a published one without large files is whole', async () => {
  const folder = join(bench.shop.base, 'without-large');
  const { said } = await bench.shop.take(folder, { PUBLISH: 'true', PIECE: 512 * 1024 ** 2 }).ended;
  expect(said).toBe(`the snapshot is in ${folder}\n`);
  expect(manifestOf(folder).pieces).toMatchObject([{ file: 'piece-000000.tar.zst' }]);
  expect((await unpackFrom(folder)).said).toContain('the snapshot is in its place');
  await expectWhole();
});

test('a piece that no worker can take stops the unpacking', async () => {
  failing(bench.shop.base, 'mkdir', 'taken.3', 'exit 1');
  try {
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringMatching(/^\/tmp\/.* cannot be written/m)]);
  } finally {
    rmSync(join(bench.shop.base, 'mkdir'));
  }
  expect(existsSync(bench.data)).toBe(false);
  expect((await unpack().ended).said).toContain('the snapshot is in its place');
});

test('what somebody has put beside the files of the server is in no snapshot', async () => {
  const data = bench.source.sql('postgres', 'show data_directory');
  const beside = [
    '.pgpass',
    'server.key',
    'postgresql.auto.conf.bak',
    'log/postgresql.log',
    'a b',
    '[x]*',
    'x\ry',
    'x\ny',
  ];
  mkdirSync(join(data, 'log'), { recursive: true });
  for (const name of beside) writeFileSync(join(data, name), 'put.Here~6');
  execFileSync('chown', ['-R', 'postgres:', data]);
  const folder = join(bench.shop.base, 'beside');
  try {
    expect((await bench.shop.take(folder).ended).said).toBe(`the snapshot is in ${folder}\n`);
  } finally {
    for (const name of beside) rmSync(join(data, name));
  }
  expect(contentOf(folder).includes('put.Here~6')).toBe(false);
  expect(membersOf(folder)).toEqual(expect.arrayContaining(['PG_VERSION', 'global/pg_control', 'pg_wal/']));
});

test('nothing of the copy is left in the server', () => {
  expect(bench.source.sql('postgres', 'select slot_name from pg_replication_slots')).toBe(
    'rpc_node_replica_1',
  );
  expect(readdirSync(bench.taken).filter((name) => !name.startsWith('piece-'))).toEqual(['manifest.json']);
});

test('a data directory is unpacked, and has names, roles and passwords of the inventory alone', async () => {
  const { code, said } = await unpack().ended;
  expect([code, said]).toEqual([0, expect.stringContaining('the snapshot is in its place')]);
  await expectWhole();
  const copy = await startUnpacked(bench.parent, bench.data);
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
  expect(list(bench.data, '-perm', '/077')).toEqual([]);
  expect(readFileSync(join(bench.data, 'pg_hba.conf'), 'utf8')).not.toContain('10.99.88.77');
  expect(readFileSync(join(bench.data, 'postgresql.auto.conf'), 'utf8')).toBe('');
  expect(existsSync(`${bench.data}.rpc-node-copy`)).toBe(false);
  expect(existsSync(join(bench.shop.base, 'passwords'))).toBe(false);
});

test('a published one has no secret, name or address of the source in any piece, and is unpacked as others are', async () => {
  const folder = join(bench.shop.base, 'published');
  const { said } = await bench.shop.take(folder, { PUBLISH: 'true' }).ended;
  expect(said).toBe(`the snapshot is in ${folder}\n`);
  const own = manifestOf(folder);
  const hashes = bench.source
    .sql('postgres', 'select rolpassword from pg_authid where rolpassword is not null')
    .split('\n');
  expect(hashes).toHaveLength(3);
  const stream = contentOf(folder);
  for (const secret of [...secretsOfSource, ...hashes])
    expect([secret, stream.includes(secret)]).toEqual([secret, false]);
  // What is looked for would be found.
  expect(stream.includes('rpc_node_owner')).toBe(true);
  const whole = contentOf(bench.taken);
  for (const secret of [...secretsOfSource.slice(3), ...hashes])
    expect([secret, whole.includes(secret)]).toEqual([secret, true]);
  expect([own.image, own.superuser, own.block, own.hash]).toEqual([
    'postgres@sha256:feed',
    'rpc_node_owner',
    bench.manifest.block,
    bench.manifest.hash,
  ]);
  expect((await unpackFrom(folder)).said).toContain('the snapshot is in its place');
  await expectWhole();
});

inAllForms(
  'a name that a killed run has given, and those that other databases of the source have, are in no way',
  async () => {
    const folder = join(bench.shop.base, 'taken-names');
    const moved = { PROVER_DATABASE: 'rpc_node_moved', PROVER_USER: 'rpc_node_moved' };
    bench.source.sql(
      'postgres',
      `alter database source_hashes rename to rpc_node_moved; alter role source_prover rename to rpc_node_moved;
     create database new_state_db; create database "user=x 1";`,
    );
    try {
      expect((await bench.shop.take(folder, moved).ended).said).toBe(`the snapshot is in ${folder}\n`);
    } finally {
      bench.source.sql(
        'postgres',
        `alter database rpc_node_moved rename to source_hashes; alter role rpc_node_moved rename to source_prover;
       drop database new_state_db; drop database "user=x 1";`,
      );
    }
    const { said } = await unpackFrom(folder);
    expect(said).toContain('the snapshot is in its place');
    await expectWhole();
  },
);

inAllForms('what a standby sends is unpacked as a server of its own', async () => {
  const copied = join(bench.shop.base, 'standby');
  const standby = await startStandby(bench.parent, bench.source);
  try {
    const replica = workshop(bench.parent, standby);
    expect((await replica.take(copied).ended).said).toBe(`the snapshot is in ${copied}\n`);
    const { said } = await unpackFrom(copied);
    expect(said).toContain('the snapshot is in its place');
    await expectWhole();
    replica.remove();
  } finally {
    await standby.stop();
  }
});

test('a server with a tablespace is refused before anything is copied', async () => {
  const folder = join(bench.shop.base, 'tablespace');
  mkdirSync(folder);
  execFileSync('chown', ['postgres:', folder]);
  bench.source.sql('postgres', `create tablespace elsewhere location '${folder}'`);
  const refused = join(bench.shop.base, 'refused');
  try {
    const { code, said } = await bench.shop.take(refused).ended;
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/pg_tblspc\/\d+ of its data directory is a link, or a tablespace/),
    ]);
    expect(readdirSync(refused)).toEqual([]);
  } finally {
    bench.source.sql('postgres', 'drop tablespace elsewhere');
  }
});
