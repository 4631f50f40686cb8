import { expect, test } from 'vitest';
import { drift, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { decide, type Holding, holding, lookAtStores, type Store } from './restored.ts';

const line = (restore: string, table: number | null) =>
  `rpc-playbooks: ${JSON.stringify({ restore, sha256: 'aa', snapshot: '2024-05-01', table })}`;

test.each<[what: string, line: string | undefined, table: number | undefined, size: number, is: Holding['is']]>([
  ['nothing', undefined, undefined, 0, 'empty'],
  ['a table without rows, as the init script makes it', undefined, 7, 0, 'empty'],
  ['rows and no mark', undefined, 7, 8192, 'foreign'],
  ['our mark on this table', line('complete', 7), 7, 8192, 'restored'],
  ['our mark, and a table that was made anew', line('complete', 7), 8, 8192, 'foreign'],
  ['our mark, and the table is gone', line('complete', 7), undefined, 0, 'empty'],
  ['our mark, and the table was emptied', line('complete', 7), 7, 0, 'empty'],
  ['a restore that broke off before its first table', line('started', null), undefined, 0, 'interrupted'],
  ['a restore that broke off halfway', line('started', null), 9, 8192, 'interrupted'],
  ['a mark that is none', 'rpc-playbooks: {', 7, 8192, 'foreign'],
  [
    'a mark of other types',
    'rpc-playbooks: {"restore":"complete","sha256":5,"snapshot":{},"table":7}',
    7,
    8192,
    'foreign',
  ],
])('what a database holds is read from itself: %s', (_, found, table, size, is) => {
  expect(holding(found, { table, size, all: size, writers: 1 }).is).toBe(is);
});

test.each([
  ['rows beside a table without any', undefined, 7],
  ['rows where that table was never made', undefined, undefined],
  ['our mark, and only that table was emptied', line('complete', 7), 7],
])('what a restore would drop is data, wherever it stands: %s', (_, found, table) => {
  expect(holding(found, { table, size: 0, all: 8192, writers: 0 }).is).toBe('foreign');
});

test.each([
  ['started', 7, 'foreign'],
  ['complete', 7, 'restored'],
])('a restore marked %s on which a node has worked since', (restore, table, is) => {
  expect(holding(line(restore, 7), { table, size: 8192, all: 8192, writers: 2 }).is).toBe(is);
});

const ours: Holding = { is: 'restored', sha256: 'aa', snapshot: '2024-05-01' };
const older: Holding = { is: 'restored', sha256: 'bb', snapshot: '2024-04-01' };
const foreign: Holding = { is: 'foreign' };
const empty: Holding = { is: 'empty' };
const interrupted: Holding = { is: 'interrupted' };
const unreachable: Holding = { is: 'unreachable', verdict: unknownUntil('state-db is running') };

test.each<[state: Holding, prover: Holding, otherwise: string, whenReplacing: string]>([
  [ours, ours, 'keep', 'keep'],
  [older, older, 'keep', 'restore'],
  [ours, older, 'keep', 'restore'],
  [empty, empty, 'restore', 'restore'],
  [interrupted, interrupted, 'restore', 'restore'],
  [interrupted, empty, 'restore', 'restore'],
  [interrupted, ours, 'restore', 'restore'],
  [ours, empty, 'refuse', 'restore'],
  [foreign, empty, 'refuse', 'restore'],
  [empty, foreign, 'refuse', 'restore'],
  [interrupted, foreign, 'refuse', 'restore'],
  [foreign, ours, 'refuse', 'restore'],
  [unreachable, empty, 'wait', 'wait'],
])('$0.is and $1.is', (state, prover, otherwise, whenReplacing) => {
  const wanted = { state: 'aa', prover: 'aa' };
  expect(decide(state, prover, { ...wanted, replaceExisting: false })).toBe(otherwise);
  expect(decide(state, prover, { ...wanted, replaceExisting: true })).toBe(whenReplacing);
});

test('what both databases hold is stated where it is not the snapshot', async () => {
  const store = (database: string, sha256: string): Store => ({
    archive: { store: 'state', url: 'http://x/y', sha256, path: `/data/${database}`, table: 'state.t' },
    target: { container: 'state-db', user: 'u', database },
  });
  const marks = { state_db: line('complete', 7), prover_db: line('started', 7) };
  const host = fakeHost([], {
    sql: async ({ database }) => ({
      ok: true,
      rows: [[marks[database as keyof typeof marks], '7', '8192', '8192', '1']],
    }),
  });
  const { decision, verdict } = await lookAtStores(
    host,
    { state: store('state_db', 'aa'), prover: store('prover_db', 'aa') },
    false,
  );
  expect(decision).toBe('restore');
  expect(verdict).toEqual(
    drift(
      'the state database holds the snapshot of 2024-05-01 (aa), the prover database holds a restore that did not come to its end',
    ),
  );
});
