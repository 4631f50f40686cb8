import { expect, test } from 'vitest';
import snapshot from '../../../roles/snapshot.ts';
import type { SqlResult } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import type { Variables } from '../variables/variables.ts';
import type { SnapshotDatabase } from './database-contents.ts';
import { snapshotIsRestored } from './restore.ts';

const database = (name: 'state' | 'prover'): SnapshotDatabase => ({
  archive: { store: name, url: 'http://x/y', sha256: 'aa', path: `/data/${name}`, table: 'state.t' },
  target: { container: 'state-db', user: 'u', database: name },
});
const databases = { state: database('state'), prover: database('prover') };

const restored = (replaceExisting: boolean) =>
  snapshotIsRestored(databases, { resources: [], settings: { RESTORE_WITH: 'pg_restore', JOBS: 1 } }, {
    snapshot: { date: '2024-05-01', replace_existing: replaceExisting },
    credentials: { prover: { user: 'p' } },
    paths: { data: '/data' },
  } as Variables);

test.each([
  ['rows that came while the archives were fetched', '8192', false, false],
  ['nothing', '0', false, true],
  ['rows that may be replaced', '8192', true, true],
])('what a restore finds when it starts: %s', async (_, size, replaceExisting, begins) => {
  const started: string[] = [];
  const host = fakeHost([[/./, '']], {
    sql: async (): Promise<SqlResult> => ({ ok: true, rows: [[null, '7', size, size, '1']] }),
    run: shell(async (command) => {
      started.push(command);
      return new Output(0, Buffer.alloc(0), '');
    }),
  });
  const failure = await applyDrift(host, restored(replaceExisting)).then(
    () => undefined,
    (error: Error) => error,
  );
  expect(started.length > 0).toBe(begins);
  if (begins) return;
  expect(failure).toMatchObject({
    message:
      'the databases now hold data that a restore would destroy: the state database holds data that was not restored by this tool, the prover database holds data that was not restored by this tool',
    hint: 'to drop what is there and restore the snapshot, set snapshot: { replace_existing: true } in the inventory',
  });
});

test('a recovery restores no snapshot, also where the inventory lets one replace what is there', async () => {
  const context = await contextOf({ changes: [[['vars', 'snapshot', 'replace_existing'], true]] });
  const resources = await snapshot.resources({ ...context, given: { 'to-time': 'latest' } });
  const [first, ...others] = resources.map(({ name }) => name);
  expect(first).toBe('databases hold a snapshot');
  expect(others.filter((name) => !name.includes('index'))).toEqual([]);
  const holds = (restore: string) => {
    const mark = { restore, sha256: 'f'.repeat(64), table: 7, snapshot: '2024-04-01' };
    return fakeHost([], {
      sql: async () => ({ ok: true, rows: [[JSON.stringify(mark), '7', '1', '8', '1']] }),
    });
  };
  expect(await resources[0]?.check(holds('complete'))).toEqual(ok);
  expect(await refusal(resources, 'databases hold a snapshot', holds('started'))).toEqual([
    'databases hold a snapshot: the state database holds a restore that did not finish, the prover database holds a restore that did not finish',
    'a recovery restores no snapshot: recover to a time after the restore, or deploy, which restores the snapshot of the inventory',
  ]);
});
