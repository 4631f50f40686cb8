import { expect, test } from 'vitest';
import type { SqlResult } from '../../engine/host/host.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import type { Credentials } from '../variables/variables.ts';
import { proverDatabaseIsThere } from './prover-database.ts';

const server = { container: 'state-db', user: 'state_user', database: 'state_db' };
const check = proverDatabaseIsThere(server, { user: 'prover_user', database: 'prover_db' } as Credentials);

test.each([
  [
    [null, 'f', 't'],
    'user prover_user does not exist: the data directory was not initialized with the init script',
  ],
  [
    [null, 't', 't'],
    'database prover_db does not exist: the data directory was not initialized with the init script',
  ],
  [['postgres', 't', 't'], 'it belongs to postgres'],
])('a user or database that the init script did not create: %j', async (row, words) => {
  const host = fakeHost([], {
    container: async () => runningContainer,
    sql: async () => ({ ok: true, rows: [row] }),
  });
  await expect(applyDrift(host, check)).rejects.toMatchObject({
    message: `prover database prover_db belongs to prover_user: ${words}`,
    hint: 'run the init script by hand, docker exec state-db psql -U state_user -d state_db -f /docker-entrypoint-initdb.d/init_prover_db.sql, or start from an empty data directory',
  });
});

test('a server that starts is checked again when it accepts connections', async () => {
  const answers: SqlResult[] = [
    { ok: false, error: 'FATAL:  the database system is starting up' },
    { ok: true, rows: [[null, 'f', 'f']] },
    { ok: true, rows: [['prover_user', 't', 't']] },
  ];
  const seen = [];
  for (const answer of answers) {
    seen.push(
      await check.check(fakeHost([], { container: async () => runningContainer, sql: async () => answer })),
    );
  }
  expect(seen).toEqual([
    { is: 'unknown', until: 'state-db answers SQL: FATAL:  the database system is starting up' },
    { is: 'unknown', until: 'state-db accepts connections' },
    { is: 'ok' },
  ]);
});
