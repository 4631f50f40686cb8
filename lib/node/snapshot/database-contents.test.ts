import { expect, test } from 'vitest';
import { drift, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { assessDatabases, type SnapshotDatabase } from './database-contents.ts';

const mark = (restore: string, table: number | null, sha256 = 'aa') =>
  JSON.stringify({ restore, sha256, snapshot: '2024-05-01', table });

/** What templates/host/database-contents.sql reads. */
type Row = readonly [
  mark: string | null,
  table: number | null,
  size: number,
  allTables: number,
  writers: number,
];

const database = (name: string): SnapshotDatabase => ({
  archive: { store: 'state', url: 'http://x/y', sha256: 'aa', path: `/data/${name}`, table: 'state.t' },
  target: { container: 'state-db', user: 'u', database: name },
});

/** A host with databases that hold such rows; one without a row does not answer. */
function hostWith(rows: Readonly<Record<string, Row | undefined>>) {
  return fakeHost([], {
    sql: async ({ database: name }) => {
      const row = rows[name];
      if (!row) return { ok: false, error: 'no answer' };
      return { ok: true, rows: [row.map((value) => (value === null ? null : String(value)))] };
    },
  });
}

const kinds = {
  restored: 'holds the snapshot of 2024-05-01 (aa)',
  interrupted: 'holds a restore that did not finish',
  foreign: 'holds data that was not restored by this tool',
  empty: 'is empty',
};

async function kindOf(row: Row) {
  const both = { state: database('db'), prover: database('db') };
  const { description } = await assessDatabases(hostWith({ db: row }), both, false);
  const is = (words: string) => description === `the state database ${words}, the prover database ${words}`;
  return Object.entries(kinds).find(([, words]) => is(words))?.[0];
}

test.each<[what: string, mark: string | null, table: number | null, size: number, is: string]>([
  ['nothing', null, null, 0, 'empty'],
  ['a table without rows, as the init script makes it', null, 7, 0, 'empty'],
  ['rows and no mark', null, 7, 8192, 'foreign'],
  ['our mark on this table', mark('complete', 7), 7, 8192, 'restored'],
  ['our mark, and a table that was created again', mark('complete', 7), 8, 8192, 'foreign'],
  ['our mark, and the table is gone', mark('complete', 7), null, 0, 'empty'],
  ['our mark, and the table was emptied', mark('complete', 7), 7, 0, 'empty'],
  ['a restore that stopped before its first table', mark('started', null), null, 0, 'interrupted'],
  ['a restore that stopped halfway', mark('started', null), 9, 8192, 'interrupted'],
  ['a mark that is not JSON', '{', 7, 8192, 'foreign'],
  ['a mark of other types', '{"restore":"complete","sha256":5,"snapshot":{},"table":7}', 7, 8192, 'foreign'],
])('what a database holds is read from itself: %s', async (_, found, table, size, is) => {
  expect(await kindOf([found, table, size, size, 1])).toBe(is);
});

test.each([
  ['rows beside a table without any', null, 7],
  ['rows where that table was never made', null, null],
  ['our mark, and only that table was emptied', mark('complete', 7), 7],
])('whatever a restore would drop is data: %s', async (_, found, table) => {
  expect(await kindOf([found, table, 0, 8192, 0])).toBe('foreign');
});

test.each([
  ['started', 7, 'foreign'],
  ['complete', 7, 'restored'],
])('a restore marked %s on which a node has worked since', async (restore, table, is) => {
  expect(await kindOf([mark(restore, 7), table, 8192, 8192, 2])).toBe(is);
});

const databases = {
  ours: [mark('complete', 7), 7, 8192, 8192, 1],
  older: [mark('complete', 7, 'bb'), 7, 8192, 8192, 1],
  foreign: [null, 7, 8192, 8192, 1],
  empty: [null, null, 0, 0, 0],
  interrupted: [mark('started', null), null, 0, 0, 0],
  unreachable: undefined,
} satisfies Record<string, Row | undefined>;
type Kind = keyof typeof databases;

const assess = (state: Kind, prover: Kind, replaceExisting: boolean) =>
  assessDatabases(
    hostWith({ state_db: databases[state], prover_db: databases[prover] }),
    { state: database('state_db'), prover: database('prover_db') },
    replaceExisting,
  );

test.each<[state: Kind, prover: Kind, otherwise: string, whenReplacing: string]>([
  ['ours', 'ours', 'keep', 'keep'],
  ['older', 'older', 'keep', 'restore'],
  ['ours', 'older', 'keep', 'restore'],
  ['empty', 'empty', 'restore', 'restore'],
  ['interrupted', 'interrupted', 'restore', 'restore'],
  ['interrupted', 'empty', 'restore', 'restore'],
  ['interrupted', 'ours', 'restore', 'restore'],
  ['ours', 'empty', 'refuse', 'restore'],
  ['foreign', 'empty', 'refuse', 'restore'],
  ['empty', 'foreign', 'refuse', 'restore'],
  ['interrupted', 'foreign', 'refuse', 'restore'],
  ['foreign', 'ours', 'refuse', 'restore'],
  ['unreachable', 'empty', 'wait', 'wait'],
])('%s and %s: %s, or %s where data may be replaced', async (state, prover, otherwise, whenReplacing) => {
  expect((await assess(state, prover, false)).decision).toBe(otherwise);
  expect((await assess(state, prover, true)).decision).toBe(whenReplacing);
});

test('what both databases hold is stated where it is not the snapshot', async () => {
  expect((await assess('ours', 'interrupted', false)).verdict).toEqual(
    drift(
      'the state database holds the snapshot of 2024-05-01 (aa), the prover database holds a restore that did not finish',
    ),
  );
  expect((await assess('unreachable', 'empty', false)).verdict).toEqual(unknownUntil('state-db is running'));
});
