import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inAllForms } from '../faults/seed.ts';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';
import { startFaultyFileServer } from './faulty-file-server.ts';
import { startRepository } from './physical-repository.ts';
import {
  contentOf,
  manifestOf,
  membersOf,
  secretsOfSource,
  snapshotPrograms,
  startSource,
  startStandby,
  startUnpacked,
  workshop,
} from './physical-server.ts';

// Physical snapshots of a replica and of a repository of Barman, which start as servers of their own.

let parent: string;
let source: Postgres;
let server: Awaited<ReturnType<typeof startFaultyFileServer>>;
let shop: ReturnType<typeof workshop>;

beforeAll(async () => {
  installMissing(snapshotPrograms);
  parent = mkdtempSync('/var/tmp/physical-');
  // In memory: the tests write whole servers again and again.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2500m,mode=711', 'tmpfs', parent]);
  source = await startSource(parent);
});

beforeEach(async () => {
  server = await startFaultyFileServer();
});

afterEach(() => server.stop());

afterAll(async () => {
  await source.stop();
  spawnSync('umount', ['--lazy', parent]);
  rmSync(parent, { recursive: true, force: true });
});

const hashesOfPasswords = () =>
  source.sql('postgres', 'select rolpassword from pg_authid where rolpassword is not null').split('\n');

/** The secrets, names and addresses of the source that a snapshot holds. */
function heldIn(folder: string): readonly string[] {
  const stream = contentOf(folder);
  return [...secretsOfSource, ...hashesOfPasswords()].filter((secret) => stream.includes(secret));
}

const blocks = 'select count(*), md5(string_agg(block_hash, $$,$$ order by block_num)) from state.l2block';
const nodes = 'select count(*), md5(string_agg(data, $$,$$ order by hash)) from state.nodes';

/** It starts as a primary, with all that the source has. */
async function expectStarts(folder: string): Promise<void> {
  const manifest = manifestOf(folder);
  const data = join(mkdtempSync(join(shop.base, 'data-')), 'state-db');
  for (const { file } of manifest.pieces)
    server.serve(`/s/${file}`, { content: readFileSync(join(folder, file)) });
  const { said } = await shop.unpack(server.url('/s/'), data, manifest).ended;
  expect(said).toContain('the snapshot is in its place');
  expect(existsSync(join(data, 'standby.signal'))).toBe(false);
  const copy = await startUnpacked(parent, data, 'mv');
  try {
    expect(copy.sql('new_state_db', 'select pg_is_in_recovery()')).toBe('f');
    expect(copy.sql('new_state_db', 'select count(*) from pg_replication_slots')).toBe('0');
    expect(copy.sql('new_state_db', "select current_setting('primary_conninfo')")).toBe('');
    expect(copy.sql('new_state_db', blocks)).toBe(source.sql('source_state', blocks));
    expect(copy.sql('source_state', nodes)).toBe(source.sql('source_hashes', nodes));
    expect(
      copy.sql('new_state_db', 'select rolname from pg_roles where oid >= 16384 or oid = 10 order by 1'),
    ).toBe('new_prover\nnew_state');
    copy.sql('new_state_db', 'create table written (n int)');
  } finally {
    await copy.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

describe('a replica', () => {
  let standby: Postgres;

  beforeAll(async () => {
    standby = await startStandby(parent, source);
    shop = workshop(parent, standby);
  });

  afterAll(async () => {
    shop.remove();
    await standby.stop();
  });

  test('its snapshot has no password in plain text, no file that says whom it follows, and starts as a primary', async () => {
    const folder = join(shop.base, 'own');
    expect((await shop.take(folder).ended).said).toBe(`the snapshot is in ${folder}\n`);
    const members = membersOf(folder);
    for (const name of ['standby.signal', 'postgresql.auto.conf', 'pg_hba.conf'])
      expect(members).not.toContain(name);
    expect(members).toContain('PG_VERSION');
    expect(members.filter((name) => /^pg_replslot\/./.test(name))).toEqual([]);
    expect(heldIn(folder)).not.toContain('replica.Source~3');
    expect(manifestOf(folder).password_hashes).toBe(true);
    await expectStarts(folder);
    // It follows as before.
    source.sql('source_state', "insert into state.l2block values (40001, '0x1')");
    while (standby.sql('source_state', 'select max(block_num) from state.l2block') !== '40001')
      await delay(100);
    source.sql('source_state', 'delete from state.l2block where block_num = 40001');
    expect(standby.sql('postgres', 'select count(*) from pg_replication_slots')).toBe('0');
  });

  inAllForms(
    'a published one has no secret, name or address of the source, and starts as a primary',
    async () => {
      const folder = join(shop.base, 'published');
      expect((await shop.take(folder, { PUBLISH: 'true' }).ended).said).toBe(
        `the snapshot is in ${folder}\n`,
      );
      expect(heldIn(folder)).toEqual([]);
      await expectStarts(folder);
    },
  );

  test('a block that is removed while it is copied is in no manifest: named, and nothing looks whole', async () => {
    const last = "40001, '0x' || repeat('d', 64), ''";
    source.sql('source_state', `insert into state.l2block values (${last})`);
    while (standby.sql('source_state', 'select max(block_num) from state.l2block') !== '40001')
      await delay(100);
    const folder = join(shop.base, 'rewound');
    const run = shop.take(folder);
    while (!existsSync(join(folder, '.part/piece-000000.tar.zst'))) await delay(1);
    source.sql('source_state', 'delete from state.l2block where block_num = 40001');
    const { code, said } = await run.ended;
    expect([code, said]).toEqual([
      1,
      expect.stringContaining('the newest block was removed while the server was copied'),
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('one that stops in between leaves nothing that looks whole', async () => {
    const own = await startStandby(parent, source);
    const other = workshop(parent, own);
    const folder = join(other.base, 'stopped');
    try {
      const run = other.take(folder);
      while (!existsSync(join(folder, '.part/piece-000001.tar.zst'))) await delay(5);
      process.kill(own.pid, 'SIGQUIT');
      const { code, said } = await run.ended;
      expect([code, said]).toEqual([1, expect.stringContaining('state-db does not send a whole copy')]);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      other.remove();
      await own.stop();
    }
  });
});

describe('the repository of the backup host', () => {
  let repository: Awaited<ReturnType<typeof startRepository>>;

  beforeAll(async () => {
    shop = workshop(parent, source);
    repository = await startRepository(shop.base, source);
  });

  afterAll(() => {
    repository.stop();
    shop.remove();
  });

  const isClean = () =>
    expect([
      existsSync(repository.settings.STAGED),
      existsSync(`${repository.settings.STAGED}.offer`),
    ]).toEqual([false, false]);

  test('its snapshot has what came after the base backup, nothing of the deployment, and starts as a primary', async () => {
    source.sql('source_state', "insert into state.l2block values (40001, '0x' || repeat('e', 64))");
    await repository.arrives();
    const folder = join(shop.base, 'repository');
    expect((await shop.take(folder, repository.settings).ended).said).toBe(`the snapshot is in ${folder}\n`);
    expect(manifestOf(folder).block).toBe(40_001);
    expect(heldIn(folder)).toEqual([]);
    isClean();
    await expectStarts(folder);
  });

  test('the copy that is started may be on another file system: each of both needs the room for one', async () => {
    const folder = join(shop.base, 'small');
    mkdirSync(folder);
    const [size = ''] = source
      .sql('postgres', 'select sum(pg_database_size(oid)) from pg_database')
      .split('\n');
    // The base backup has the log and the folders of the server, too.
    const room = `size=${Math.ceil(Number(size) * 1.5) + 32 * 1024 ** 2}`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', room, 'tmpfs', folder]);
    try {
      expect((await shop.take(folder, repository.settings).ended).said).toBe(
        `the snapshot is in ${folder}\n`,
      );
    } finally {
      execFileSync('umount', [folder]);
    }
  });

  inAllForms('a base backup that an older version has made is a source as well', async () => {
    repository.makeOldBackup();
    source.sql('source_state', "insert into state.l2block values (40002, '0x' || repeat('f', 64))");
    await repository.arrives();
    const folder = join(shop.base, 'of-files');
    expect((await shop.take(folder, repository.settings).ended).said).toBe(`the snapshot is in ${folder}\n`);
    expect(manifestOf(folder).block).toBe(40_002);
    expect(heldIn(folder)).toEqual([]);
    isClean();
    await expectStarts(folder);
  });

  test('a run that is killed while it recovers is started over', async () => {
    const folder = join(shop.base, 'again');
    const first = shop.take(folder, repository.settings);
    let ended: string | undefined;
    void first.ended.then(({ said }) => {
      ended = said;
    });
    while (!existsSync(join(folder, '.part/copy/data/PG_VERSION'))) {
      expect(ended).toBeUndefined();
      await delay(5);
    }
    first.kill('SIGKILL');
    await first.ended;
    expect(existsSync(join(folder, 'manifest.json'))).toBe(false);
    expect((await shop.take(folder, repository.settings).ended).said).toBe(`the snapshot is in ${folder}\n`);
    isClean();
  });

  test('without a whole base backup it is refused before anything is made', async () => {
    const folder = join(shop.base, 'none');
    const info = join(repository.folder, 'state-db/base');
    execFileSync('mv', [info, `${info}.away`]);
    try {
      const { code, said } = await shop.take(folder, repository.settings).ended;
      expect([code, said]).toEqual([1, expect.stringContaining('has no whole base backup yet')]);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      execFileSync('mv', [`${info}.away`, info]);
    }
  });
});
