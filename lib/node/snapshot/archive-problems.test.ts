import { expect, test } from 'vitest';
import { archiveProblems } from './archive-problems.ts';
import type { DumpHeader } from './dump-header.ts';

const archive = (store: 'state' | 'prover', table: string) => ({
  store,
  url: `http://snapshots/${store}`,
  sha256: '',
  path: '',
  table,
});

const good: DumpHeader = {
  format: 'custom',
  date: '2024-05-01',
  database: 'state_db',
  serverMajor: 15,
  dumpMajor: 15,
  tables: ['state.l2block'],
  complete: true,
};
const goodProver: DumpHeader = { ...good, database: 'prover_db', tables: ['state.nodes'] };

const problems = (state: DumpHeader, prover: DumpHeader) =>
  archiveProblems(
    { archive: archive('state', 'state.l2block'), header: state },
    { archive: archive('prover', 'state.nodes'), header: prover },
    '2024-05-01',
  );

test('archives that fit have no problem', () => {
  expect(problems(good, goodProver)).toEqual([]);
  expect(problems({ ...good, tables: [], complete: false }, goodProver)).toEqual([]);
});

test.each([
  [
    { ...good, date: '2024-04-30' },
    goodProver,
    ['the archives are of different days: state of 2024-04-30, prover of 2024-05-01'],
  ],
  [
    { ...good, date: '2024-04-30' },
    { ...goodProver, date: '2024-04-30' },
    ['the archives are of 2024-04-30, and the inventory says 2024-05-01'],
  ],
  [
    goodProver,
    good,
    ['the two archives are swapped: the state archive holds state.nodes (database prover_db)'],
  ],
  [good, good, ['http://snapshots/prover holds no table state.nodes (it is of database state_db)']],
  [
    { ...good, serverMajor: 14 },
    goodProver,
    ['http://snapshots/state was made from PostgreSQL 14 by pg_dump 15, and both versions have to be 15'],
  ],
])('what does not fit is named: %#', (state, prover, expected) => {
  expect(problems(state, prover)).toEqual(expected);
});

test('another kind of file is named as what it is', () => {
  const found = archiveProblems(
    {
      archive: archive('state', 'state.l2block'),
      header: { format: 'other', description: 'a web page (HTML)' },
    },
    { archive: archive('prover', 'state.nodes'), header: goodProver },
    '2024-05-01',
  );
  expect(found).toEqual([
    'http://snapshots/state is a web page (HTML); the restore tool takes PostgreSQL dumps in the custom format',
  ]);
});
