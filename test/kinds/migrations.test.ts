import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Reader } from '../../lib/engine/host/host.ts';
import { Output } from '../../lib/engine/host/output.ts';
import { shell } from '../../lib/engine/host/shell.ts';
import { runningContainer } from '../../lib/engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { localHost } from '../../lib/node/testing/local-host.ts';
import { migrationsOf } from '../../lib/node/testing/migrations.ts';
import { contextOf, refusal } from '../../lib/node/testing/role-context.ts';
import { poolIsCarriedOver, stateMigrationsAreKnown } from '../../lib/node/version/known-migrations.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

// The migrations of the lab's node, and what the tool does with them, on a real PostgreSQL 15.

const folder = fileURLToPath(new URL('../../lab/standins/node/migrations', import.meta.url));
const programs = mkdtempSync('/var/tmp/migrations-');
const program = join(programs, 'node');
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off' });
  postgres.sql('postgres', 'create role pool_user superuser login');
  // In place of the containers of the databases and of an image whose program is a file here.
  const docker = `#!/bin/sh
    case $1 in
      exec) shift 2; exec "$@" ;;
      image) exit 0 ;;
      run) while [ "$1" != -c ]; do shift; done; exec sh "$@" ;;
    esac`;
  writeFileSync(join(programs, 'docker'), docker, { mode: 0o755 });
  writeFileSync(program, '0001.sql0002.sqlvalidium-001.sqlown-001.sql');
});

afterAll(async () => {
  rmSync(programs, { recursive: true });
  await postgres.stop();
});

beforeEach(() => {
  for (const database of ['state_db', 'pool_db'])
    postgres.sql('postgres', `drop database if exists ${database};\ncreate database ${database}`);
});

/** Runs migrations of the lab's node that the database does not have, in this order. */
function migrate(database: 'state' | 'pool', names: readonly string[]): void {
  const name = `${database}_db`;
  postgres.sql(
    name,
    'create table if not exists gorp_migrations (id text primary key, applied_at timestamptz)',
  );
  const applied = postgres.sql(name, 'select id from gorp_migrations').split('\n');
  for (const id of names.filter((each) => !applied.includes(each))) {
    const text = readFileSync(join(folder, database, id), 'utf8');
    postgres.sql(name, `begin;\n${text}\ninsert into gorp_migrations values ('${id}', now());\ncommit`);
  }
}

const migrations = (database: string) => postgres.sql(database, 'select id from gorp_migrations').split('\n');

/**
 * Runs a step as a host does.
 *
 * @throws Error when it fails
 */
function execute(step: string): void {
  const env = { ...process.env, ...postgres.environment, PATH: `${programs}:${process.env.PATH}` };
  execFileSync('/bin/sh', ['-c', step], { env, stdio: 'pipe' });
}

/** A host whose containers are this server and whose image is the program. */
function host() {
  const local = localHost(programs, {
    container: async () => ({ ...runningContainer, image: 'node:v1.2.3' }),
  });
  const sql: Reader['sql'] = async ({ database }, query) => {
    try {
      const words = ['-XqAt', '-F', '|', `--dbname=${database}`, '-c', query];
      const text = execFileSync('psql', words, {
        env: { ...process.env, ...postgres.environment },
        encoding: 'utf8',
      });
      const rows = text.split('\n').filter((line) => line !== '');
      return { ok: true, rows: rows.map((line) => line.split('|')) };
    } catch (error) {
      return { ok: false, error: String(error) };
    }
  };
  const run = shell(async (command) => {
    execute(command);
    return new Output(0, Buffer.of(), '');
  });
  return { ...local, sql, run };
}

const poolOf = async (node_binary = program) =>
  poolIsCarriedOver(await contextOf({ group: 'rpc', changes: [[['vars', 'node_binary'], node_binary]] }));

test('the files of the lab are all migrations of both generations', () => {
  const both = (database: 'state' | 'pool') =>
    [...new Set([...migrationsOf['v1.2.3'][database], ...migrationsOf['v3.1.0'][database]])].sort();
  for (const database of ['state', 'pool'] as const)
    expect(readdirSync(join(folder, database)).sort()).toEqual(both(database));
});

test('a pool database of the older generation gets the current name, once; then the current migrations run', async () => {
  migrate('pool', migrationsOf['v1.2.3'].pool);
  const resource = await poolOf();
  expect(await resource.check(host())).toMatchObject({
    differences: [{ what: 'migration', was: 'supernets-0001.sql', wanted: 'validium-001.sql' }],
  });
  await applyDrift(host(), resource);
  expect(await resource.check(host())).toEqual({ is: 'ok' });
  expect(migrations('pool_db')).toEqual([...migrationsOf['v1.2.3'].pool.slice(0, -1), 'validium-001.sql']);
  migrate('pool', migrationsOf['v3.1.0'].pool);
  expect(new Set(migrations('pool_db'))).toEqual(new Set(migrationsOf['v3.1.0'].pool));
  expect(postgres.sql('pool_db', 'select count(*) from pool.policy')).toBe('2');
});

test('a step of an earlier check changes nothing where the rows are others by then', async () => {
  migrate('pool', migrationsOf['v1.2.3'].pool);
  const seen = await (await poolOf()).check(host());
  if (seen.is !== 'drift' || !Array.isArray(seen.change)) throw new Error('nothing to rename');
  postgres.sql('pool_db', `insert into gorp_migrations values ('validium-001.sql')`);
  for (const step of seen.change) if (step.do === 'run') execute(step.command);
  expect(migrations('pool_db')).toContain('supernets-0001.sql');
});

test.each<[what: string, statement: string, why: RegExp]>([
  [
    'another migration',
    `insert into gorp_migrations values ('other-001.sql')`,
    /^the pool database has other-001\.sql, which node v3\.1\.0 does not know$/,
  ],
  [
    'both names',
    `insert into gorp_migrations values ('validium-001.sql')`,
    /^the pool database has supernets-0001\.sql, which node v3\.1\.0 does not know$/,
  ],
  [
    'the name without what it stands for',
    'drop table pool.acl',
    /^the pool database has supernets-0001\.sql, which node v3\.1\.0 does not know$/,
  ],
])('a pool database with %s is refused, and not touched', async (_, statement, why) => {
  migrate('pool', migrationsOf['v1.2.3'].pool);
  postgres.sql('pool_db', statement);
  const before = migrations('pool_db');
  const resource = await poolOf();
  const [message, hint] = await refusal([resource], resource.name, host());
  expect(message).toMatch(why);
  expect(hint).toMatch(/^no version of the node undoes a migration: .*a snapshot or a backup from before/);
  expect(migrations('pool_db')).toEqual(before);
});

test("a migration of the chain's own is known where the node's program has its name", async () => {
  migrate('pool', migrationsOf['v1.2.3'].pool);
  postgres.sql('pool_db', `insert into gorp_migrations values ('own-001.sql')`);
  const resource = await poolOf();
  await applyDrift(host(), resource);
  expect(await resource.check(host())).toEqual({ is: 'ok' });
  const absent = await poolOf('/app/none');
  expect(await absent.check(host())).toEqual({
    is: 'unknown',
    until:
      'image 172.30.77.10:5000/node:v3.1.0 shows which migrations it knows: there is no /app/none in the image',
  });
});

test('a state database that an older node migrated is known, and one of a newer node is not', async () => {
  const resource = async (tag: string) =>
    stateMigrationsAreKnown(
      await contextOf({
        changes:
          tag === 'v3.1.0'
            ? []
            : [
                [['vars', 'images', 'node'], `node:${tag}`],
                [['vars', 'node_binary'], program],
              ],
      }),
    );
  migrate('state', migrationsOf['v1.2.3'].state);
  for (const tag of ['v1.0.0', 'v3.1.0'])
    expect(await (await resource(tag)).check(host())).toEqual({ is: 'ok' });
  migrate('state', migrationsOf['v3.1.0'].state);
  expect(migrations('state_db')).toHaveLength(22);
  expect(await (await resource('v3.1.0')).check(host())).toEqual({ is: 'ok' });
  expect(await (await resource('v1.0.0')).check(host())).toMatchObject({
    note: 'the state database has 14 migrations that node v1.0.0 does not know: 0009.sql, 0010.sql, 0011.sql and 11 more',
  });
  // Of a version without a list, the program says which it has.
  expect(await (await resource('v2.1.0')).check(host())).toMatchObject({ is: 'drift' });
});

test('rows of the state database go with the block of layer 1 and with the batch that they depend on', () => {
  migrate('state', migrationsOf['v3.1.0'].state);
  postgres.sql(
    'state_db',
    `insert into state.block values (1, 'b1', '', now()), (2, 'b2', '', now());
     insert into state.batch (batch_num, raw_txs_data) values (1, 'x'), (2, 'y');
     insert into state.virtual_batch (batch_num, block_num) values (1, 1), (2, 2);
     insert into state.verified_batch (batch_num, block_num) values (1, 2);
     insert into state.l2block (block_num, block_hash, received_at, created_at, batch_num) values (7, 'h', now(), now(), 2);
     insert into state.transaction (hash, encoded, l2_block_num) values ('t', '', 7);
     insert into state.receipt (tx_hash, block_num) values ('t', 7);
     insert into state.log (tx_hash, log_index, address) values ('t', 0, 'a');
     delete from state.block where block_num = 1;
     delete from state.batch where batch_num = 2`,
  );
  const left = ['virtual_batch', 'verified_batch', 'l2block', 'transaction', 'receipt', 'log'];
  for (const table of left)
    expect(postgres.sql('state_db', `select count(*) from state.${table}`), table).toBe('0');
  expect(postgres.sql('state_db', 'select data from state.batch_data_backup')).toBe('\\x79');
});

test('data of the older generation are migrated as the real program does it', () => {
  migrate('state', migrationsOf['v1.2.3'].state);
  postgres.sql(
    'state_db',
    `insert into state.block select n, 'b' || n, '', now() from generate_series(1, 2000) n;
     insert into state.batch (batch_num) values (1);
     insert into state.virtual_batch (batch_num, block_num) values (1, 5);
     insert into state.fork_id values (7, 1, 9, '', 6);
     insert into state.exit_root (block_num, timestamp) values (1500, now());
     insert into state.l2block (block_num, block_hash, received_at, created_at, batch_num) values (7, 'h', now(), now(), 1);
     insert into state.transaction (hash, encoded, l2_block_num) values ('t', '', 7), ('u', '', 7);
     insert into state.receipt (tx_hash, block_num, tx_index, post_state) values ('t', 7, 3, 'p'), ('u', 7, 9, 'q')`,
  );
  migrate('state', migrationsOf['v3.1.0'].state);
  const rows = (query: string) => postgres.sql('state_db', query).split('\n');
  expect(rows('select block_num, checked from state.block order by 1')).toEqual(['5|t', '6|t', '1500|f']);
  expect(rows('select tx_hash, tx_index, im_state_root from state.receipt order by 1')).toEqual([
    't|0|\\x70',
    'u|1|\\x71',
  ]);
});
