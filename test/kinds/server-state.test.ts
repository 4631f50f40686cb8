import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Postgres, startPostgres } from '../postgres.ts';

let postgres: Postgres;
let copy: string;

beforeAll(async () => {
  postgres = await startPostgres('/var/tmp', { fsync: 'off' });
  copy = mkdtempSync('/var/tmp/server-state-');
});
afterAll(async () => {
  rmSync(copy, { recursive: true, force: true });
  await postgres.stop();
});

const state = (folder: string) => {
  const { stdout, stderr } = spawnSync('sh', ['templates/host/server-state.sh', folder], {
    encoding: 'utf8',
  });
  return stdout.trim() || stderr.trim();
};

/** Copies pg_control as it is now. */
function copyControl() {
  mkdirSync(join(copy, 'global'), { recursive: true });
  const data = postgres.sql('postgres', 'show data_directory');
  execFileSync('cp', [join(data, 'global/pg_control'), join(copy, 'global')]);
}

test('a data directory shows its kind, how it ended, and its newest checkpoint', () => {
  expect(state(copy)).toBe('none');
  postgres.sql('postgres', 'checkpoint');
  copyControl();
  const checkpoint = postgres.sql('postgres', "select checkpoint_lsn - '0/0' from pg_control_checkpoint()");
  // 6: in production.
  expect(state(copy)).toBe(`primary 6 ${checkpoint}`);
  writeFileSync(join(copy, 'standby.signal'), '');
  expect(state(copy)).toBe(`standby 6 ${checkpoint}`);
  writeFileSync(join(copy, 'global/pg_control'), Buffer.alloc(8192, 1));
  expect(state(copy)).toBe('pg_control of version 16843009 is unknown');
});
