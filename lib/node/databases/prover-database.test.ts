import { expect, test } from 'vitest';
import { applyDrift } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import type { Credentials } from '../variables/variables.ts';
import { proverDatabaseIsThere } from './prover-database.ts';

const server = { container: 'state-db', user: 'state_user', database: 'state_db' };
const check = proverDatabaseIsThere(server, { user: 'prover_user', database: 'prover_db' } as Credentials);

test.each([
  [[null, 'f'], 'user prover_user does not exist: the data directory was not initialized with the init script'],
  [[null, 't'], 'database prover_db does not exist: the data directory was not initialized with the init script'],
  [['postgres', 't'], 'it belongs to postgres'],
])('a user or database that the init script did not create: %j', async (row, words) => {
  const host = fakeHost([], { container: async () => runningContainer, sql: async () => ({ ok: true, rows: [row] }) });
  await expect(applyDrift(host, check)).rejects.toMatchObject({
    message: `prover database prover_db belongs to prover_user: ${words}`,
    hint: 'run the init script by hand, docker exec state-db psql -U state_user -d state_db -f /docker-entrypoint-initdb.d/init_prover_db.sql, or start from an empty data directory',
  });
});
