import { expect, test } from 'vitest';
import type { SqlResult } from '../../engine/host/host.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { Variables } from '../variables/variables.ts';
import { snapshotIsRestored } from './restore.ts';
import type { Store } from './restored.ts';

const store = (name: 'state' | 'prover'): Store => ({
  archive: { store: name, url: 'http://x/y', sha256: 'aa', path: `/data/${name}`, table: 'state.t' },
  target: { container: 'state-db', user: 'u', database: name },
});
const stores = { state: store('state'), prover: store('prover') };

const restored = (replaceExisting: boolean) =>
  snapshotIsRestored({
    ...stores,
    tool: { resources: [], jobs: 1 },
    configuration: '/c',
    vars: {
      snapshot: { date: '2024-05-01', replace_existing: replaceExisting },
      credentials: { prover: { user: 'p' } },
      paths: { data: '/data' },
    } as Variables,
  });

test.each([
  ['rows that came while the archives were fetched', '8192', false, false],
  ['nothing', '0', false, true],
  ['rows that may be replaced', '8192', true, true],
])('what a restore meets as it begins: %s', async (_, size, replaceExisting, begins) => {
  const started: string[] = [];
  const host = fakeHost([[/./, '']], {
    sql: async (): Promise<SqlResult> => ({ ok: true, rows: [[null, '7', size, size, '1']] }),
    write: async (path) => void started.push(path),
  });
  const failure = await restored(replaceExisting)
    .apply(host)
    .then(
      () => undefined,
      (error: Error) => error,
    );
  expect(started.length > 0).toBe(begins);
  if (begins) return;
  expect(failure).toMatchObject({
    message:
      'the databases hold data by now that a restore would destroy: the state database holds data that was not restored by this tool, the prover database holds data that was not restored by this tool',
    hint: 'to drop what is there and restore the snapshot, say snapshot: { replace_existing: true } in the inventory',
  });
});
