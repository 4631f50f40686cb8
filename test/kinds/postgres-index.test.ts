import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Output } from '../../lib/engine/host/output.ts';
import { shell } from '../../lib/engine/host/shell.ts';
import { fakeHost } from '../../lib/engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { postgresIndex } from '../../lib/node/databases/postgres.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

let postgres: Postgres;
let folder: string;

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off' });
  folder = mkdtempSync('/var/tmp/postgres-index-');
  // The container of the server: only what psql in it needs.
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\nshift 3\nexec "$@"\n', { mode: 0o755 });
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres.stop();
});

/** Runs the script that the resource starts as a unit. */
async function create(name: string, ...columns: string[]): Promise<void> {
  const scripts: string[] = [];
  const unit = 'ActiveState=inactive';
  const host = fakeHost(
    [
      [/InvocationID/, unit],
      [/./, ''],
    ],
    {
      sql: async () => ({ ok: true, rows: [['t', null, null]] }),
      run: shell(async (_, { stdin }) => {
        scripts.push(String(stdin));
        return new Output(0, Buffer.of(), '');
      }),
    },
  );
  const target = { container: 'state-db', user: postgres.user, database: 'state db' };
  await applyDrift(host, postgresIndex({ target, name, table: 'state.log', columns }));
  const env = { ...process.env, ...postgres.environment, PATH: `${folder}:${process.env.PATH}` };
  execFileSync('/bin/sh', ['-c', scripts.join()], { env, stdio: 'pipe' });
}

const indexes = () =>
  postgres.sql(
    'state db',
    `select pg_get_indexdef(indexrelid), indisvalid from pg_index where indrelid = 'state.log'::regclass order by 1`,
  );

test('an index is created, and one that an interrupted creation left invalid is created again', async () => {
  postgres.sql('postgres', 'create database "state db"');
  postgres.sql(
    'state db',
    'create schema state; create table state.log as select 1 as topic0, 2 as "blockNum"',
  );
  await create('topic0_idx', 'topic0', 'blockNum');
  const both = 'CREATE INDEX topic0_idx ON state.log USING btree (topic0, "blockNum")|t';
  expect(indexes()).toBe(both);
  postgres.sql(
    'state db',
    `update pg_index set indisvalid = false where indexrelid = 'state.topic0_idx'::regclass`,
  );
  await create('topic0_idx', 'topic0', 'blockNum');
  expect(indexes()).toBe(both);
});
