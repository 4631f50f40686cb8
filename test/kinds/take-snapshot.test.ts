import { execFileSync, spawn } from 'node:child_process';
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { manifestSchema } from '../../lib/node/variables/manifest.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

// The script that takes a snapshot, on a real PostgreSQL that is written to all the time.

const script = readFileSync(new URL('../../templates/host/take-snapshot.sh', import.meta.url), 'utf8');
const [stateName, proverName] = ['testnet_state_db.sql.tar.gz', 'testnet_prover_db.sql.tar.gz'];
let postgres: Postgres;
let writing = true;
let written: Promise<void>;

beforeAll(async () => {
  postgres = await startPostgres(tmpdir(), { fsync: 'off' });
  postgres.sql('postgres', 'create database state_db; create database prover_db');
  postgres.sql(
    'state_db',
    `create schema state; create table state.l2block (block_num bigint primary key, block_hash text);
     create table public.gorp_migrations (id text)`,
  );
  postgres.sql(
    'prover_db',
    'create schema state; create table state.nodes (hash bigint primary key, data bytea)',
  );
  // As the synchronizer: what a block refers to is in the prover's database before the block.
  written = (async () => {
    for (let block = 1; writing; block++) {
      postgres.sql('prover_db', `insert into state.nodes values (${block}, '\\x00')`);
      postgres.sql(
        'state_db',
        `insert into state.l2block values (${block}, '0x${block.toString(16).padStart(64, '0')}')`,
      );
      await delay(5);
    }
  })();
});

afterAll(async () => {
  writing = false;
  await written;
  await postgres.stop();
});

function newFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), 'snapshot-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return join(parent, 'snapshot');
}

/** Starts the script. Its dumps take these seconds longer, as those of large databases. */
function start(folder: string, longer = 0, more: Record<string, string> = {}) {
  const programs = `${folder}.bin`;
  mkdirSync(programs, { recursive: true });
  const dump = `#!/bin/sh\nsleep ${longer}\nexec /usr/bin/pg_dump "$@"\n`;
  writeFileSync(join(programs, 'pg_dump'), dump, { mode: 0o755 });
  const settings = {
    FOLDER: folder,
    ADDRESS: postgres.socket,
    PORT: postgres.port,
    PGPASSFILE: '/dev/null',
    DATABASE_USER: postgres.user,
    STATE_DATABASE: 'state_db',
    STATE_NAME: stateName,
    STATE_TABLE: 'state.l2block',
    PROVER_DATABASE: 'prover_db',
    PROVER_NAME: proverName,
    PROVER_TABLE: 'state.nodes',
    NETWORK: 'test',
    ...more,
  };
  const child = spawn('sh', ['-c', shellSettings(settings) + script], {
    env: { ...process.env, PATH: `${programs}:${process.env.PATH}` },
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, said })),
  );
  const group = -(child.pid ?? 0);
  return { ended, kill: (signal: NodeJS.Signals) => process.kill(group, signal) };
}

const newest = () =>
  Number(postgres.sql('state_db', 'select coalesce(max(block_num), 0) from state.l2block'));
const locks = () =>
  postgres.sql('state_db', "select count(*) from pg_locks where mode = 'ShareLock' and relation is not null");

/** The highest number in the first column of an archive's table. */
function highest(archive: string, table: string): number {
  const rows = execFileSync('pg_restore', ['--data-only', `--table=${table}`, '--file=-', archive], {
    encoding: 'utf8',
  });
  return Math.max(...[...rows.matchAll(/^(\d+)\t/gm)].map(([, number]) => Number(number)));
}

test('both archives are of one moment, while the chain goes on', async () => {
  const folder = newFolder();
  const before = newest();
  const { code, said } = await start(folder, 2).ended;
  expect([code, said]).toEqual([0, expect.stringContaining(`the snapshot is in ${folder}`)]);
  expect(readdirSync(folder).sort()).toEqual(['manifest.json', proverName, stateName]);
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));
  for (const { file, sha256, bytes } of [manifest.state, manifest.prover]) {
    const content = readFileSync(join(folder, file));
    expect([createHash('sha256').update(content).digest('hex'), content.length]).toEqual([sha256, bytes]);
  }
  expect(manifest.block).toBeGreaterThanOrEqual(before);
  expect(highest(join(folder, stateName), 'l2block')).toBe(manifest.block);
  expect(BigInt(manifest.hash)).toBe(BigInt(manifest.block));
  // The prover's database has all that the state refers to, and at most the block that was about
  // to be written.
  expect([0, 1]).toContain(highest(join(folder, proverName), 'nodes') - manifest.block);
  // The dumps took two seconds, and the chain did not wait for them.
  expect(newest()).toBeGreaterThan(manifest.block + 1);
});

test.each<[NodeJS.Signals]>([['SIGKILL'], ['SIGTERM']])(
  '%s in a dump: the next run starts over',
  async (signal) => {
    const folder = newFolder();
    // A busy machine is slow to see them begin.
    const first = start(folder, 30);
    while (locks() !== '0' || !existsSync(join(folder, '.part', 'prover.in'))) await delay(20);
    await delay(500);
    first.kill(signal);
    await first.ended;
    expect(existsSync(join(folder, 'manifest.json'))).toBe(false);
    expect(locks()).toBe('0');
    const before = newest();
    await delay(300);
    expect(newest()).toBeGreaterThan(before);
    expect((await start(folder).ended).code).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(['manifest.json', proverName, stateName]);
  },
);

test('a run that is killed between the archives and the manifest starts over', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, '.part'), { recursive: true });
  for (const name of [stateName, proverName, '.part/manifest.json'])
    writeFileSync(join(folder, name), 'half');
  expect((await start(folder).ended).code).toBe(0);
  expect(readFileSync(join(folder, stateName)).subarray(0, 5).toString()).toBe('PGDMP');
});

test('a snapshot that another run took meanwhile stays, and is no failure', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  for (const name of [stateName, proverName, 'manifest.json']) writeFileSync(join(folder, name), 'whole');
  const { code, said } = await start(folder).ended;
  expect([code, said]).toEqual([0, `${folder} holds a snapshot already\n`]);
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), 'utf8')).toBe('whole');
  expect(readdirSync(folder)).toHaveLength(3);
});

test('archives that are not of an interrupted snapshot stay', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, stateName), 'mine');
  const { code, said } = await start(folder).ended;
  expect([code, said]).toEqual([
    1,
    expect.stringContaining(`${stateName} is there already, and is not of a snapshot`),
  ]);
  expect(readFileSync(join(folder, stateName), 'utf8')).toBe('mine');
});

test.each([
  [{ PROVER_DATABASE: 'absent' }, 'database "absent" does not exist'],
  [{ STATE_TABLE: 'state.absent' }, 'relation "state.absent" does not exist'],
  [{ PROVER_TABLE: 'state.absent' }, 'holds no table state.absent'],
  [{ ADDRESS: '/nowhere' }, 'connection to server on socket "/nowhere'],
])('%j: it fails with the reason, and leaves nothing', async (more, words) => {
  const folder = newFolder();
  const { code, said } = await start(folder, 0, more).ended;
  expect([code, said]).toEqual([1, expect.stringContaining(words)]);
  expect(readdirSync(folder)).toEqual([]);
});
