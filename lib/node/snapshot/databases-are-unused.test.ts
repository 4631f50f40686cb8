import { expect, test } from 'vitest';
import type { SqlResult } from '../../engine/host/host.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { fakeHost, runningContainer, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import type { Variables } from '../variables/variables.ts';
import type { SnapshotDatabase } from './database-contents.ts';
import { databasesAreUnused } from './restore.ts';

const database = (name: string): SnapshotDatabase => ({
  archive: { store: 'state', url: 'http://x/y', sha256: 'aa', path: `/data/${name}`, table: 'state.t' },
  target: { container: 'state-db', user: 'u', database: name },
});
const hosts = [
  { name: 'rpc-1', connection: { type: 'ssh', address: '10.0.0.2' } },
] as unknown as InventoryHost<Variables>[];
const unused = databasesAreUnused({ state: database('state_db'), prover: database('prover_db') }, hosts);

/**
 * A host with such containers and clients. Its databases hold foreign data, or what the mark says.
 */
function using(
  containers: string,
  clients: readonly string[],
  more: { mark?: string; active?: string } = {},
) {
  return fakeHost([[/docker ps/, containers]], {
    unit: async () => ({ ...stoppedUnit, active: more.active ?? 'inactive' }),
    sql: async (_, query): Promise<SqlResult> =>
      query.includes('pg_stat_activity')
        ? { ok: true, rows: clients.map((address) => [address]) }
        : { ok: true, rows: [[more.mark ?? null, '7', '8192', '8192', '1']] },
  });
}

test.each([
  ['sync\nprover\nstate-db', [], 'they are used by sync, prover on h'],
  ['state-db', ['10.0.0.2', '172.18.0.1'], 'they are used by rpc-1 (10.0.0.2), 172.18.0.1'],
  ['prover', ['10.0.0.2', '172.18.0.1'], 'they are used by prover on h, rpc-1 (10.0.0.2)'],
])('what uses them is named before anything is downloaded: %j %j', async (containers, clients, note) => {
  expect(await unused.check(using(containers, clients))).toEqual({ is: 'drift', differences: [], note });
  expect(unused.hint).toBe(
    'stop sync, json-rpc, prover on all hosts first: docker stop sync json-rpc prover',
  );
});

test('databases that nobody uses, or that a restore of ours is filling, are unused', async () => {
  const started = '{"restore":"started","sha256":"aa","snapshot":"2024-05-01","table":7}';
  expect(await unused.check(using('state-db\nnode-exporter', []))).toEqual({ is: 'ok' });
  expect(await unused.check(using('prover', ['10.0.0.2'], { mark: started }))).toEqual({ is: 'ok' });
  expect(await unused.check(using('prover', [], { active: 'active' }))).toEqual({ is: 'ok' });
});

test('it is unknown while the database does not answer', async () => {
  expect(await unused.check(fakeHost([]))).toEqual({ is: 'unknown', until: 'state-db is running' });
});

test('a database that runs and does not answer is named with its reason', async () => {
  const error = 'FATAL:  the database system is starting up';
  const host = fakeHost([], {
    container: async () => runningContainer,
    sql: async () => ({ ok: false, error }),
  });
  expect(await unused.check(host)).toEqual({ is: 'unknown', until: `state-db answers SQL: ${error}` });
});
