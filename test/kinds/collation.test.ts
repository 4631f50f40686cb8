import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeVerdict } from '../../lib/engine/resource/resource.ts';
import { fakeHost } from '../../lib/engine/resource/testing/fake-host.ts';
import { collationsAgree } from '../../lib/node/databases/collation.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

// A real PostgreSQL 15 whose sorting rules are those of ICU: the C library here has none with a
// version.

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off' });
  postgres.sql('postgres', "create database other template template0 locale_provider icu icu_locale 'en'");
});

afterAll(() => postgres.stop());

const host = fakeHost([], {
  sql: async (_, query) => {
    const rows = postgres.sql('postgres', query).split('\n').filter(Boolean);
    return { ok: true, rows: rows.map((row) => row.split('|')) };
  },
});

test('a database whose indexes were made by other sorting rules is told, until they are made again', async () => {
  const check = collationsAgree((await contextOf({ group: 'database' })).vars);
  expect(await check.check(host)).toEqual({ is: 'ok' });
  const now = postgres.sql('postgres', "select datcollversion from pg_database where datname = 'other'");
  expect(now).not.toBe('');
  postgres.sql('postgres', "update pg_database set datcollversion = '140.1' where datname = 'other'");
  expect(describeVerdict(await check.check(host))).toBe(
    `other was made with version 140.1 of the sorting rules, and the image has ${now}`,
  );
  // As the hint says.
  execFileSync('reindexdb', ['--all', '--quiet'], { env: { ...process.env, ...postgres.environment } });
  postgres.sql('postgres', 'alter database other refresh collation version');
  expect(await check.check(host)).toEqual({ is: 'ok' });
});
