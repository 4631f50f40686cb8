import { expect, test } from 'vitest';
import type { SqlResult } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
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
