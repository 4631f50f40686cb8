import { expect, test } from 'vitest';
import { drift, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import type { DumpHeader } from './dump.ts';
import { archiveProblems, archivesHoldTheirTables, archivesOf, bytesNeeded, roomForSnapshot } from './snapshot.ts';

const archive = (name: string) => ({ url: `http://snapshots/${name}`, sha256: 'a'.repeat(64) });
const snapshot = { state: archive('state'), prover: archive('prover'), date: '2024-05-01' };
const archives = archivesOf({
  paths: { deployment: '/opt/rpc-node', data: '/data' },
  network: { kind: 'test' },
  snapshot,
} as unknown as Parameters<typeof archivesOf>[0]);

const good: DumpHeader = {
  format: 'custom',
  version: '1.14',
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
    { archive: archives.state, header: state },
    { archive: archives.prover, header: prover },
    snapshot.date,
  );

test('the archives have the names of the spec on each network', () => {
  expect(archives.state.path).toBe('/data/snapshot/testnet_state_db.sql.tar.gz');
  expect(archives.prover.path).toBe('/data/snapshot/testnet_prover_db.sql.tar.gz');
});

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
  [goodProver, good, ['the two archives are swapped: the state archive holds state.nodes (database prover_db)']],
  [good, good, ['http://snapshots/prover holds no table state.nodes (it is of database state_db)']],
  [
    { ...good, serverMajor: 14 },
    goodProver,
    ['http://snapshots/state was made from PostgreSQL 14 by pg_dump 15, and both have to be 15'],
  ],
])('what does not fit is named: %#', (state, prover, expected) => {
  expect(problems(state, prover)).toEqual(expected);
});

test('another kind of file is named as what it is', () => {
  const found = archiveProblems(
    { archive: archives.state, header: { format: 'other', description: 'a web page (HTML)' } },
    { archive: archives.prover, header: goodProver },
    snapshot.date,
  );
  expect(found).toEqual([
    'http://snapshots/state is a web page (HTML); the restore tool takes PostgreSQL dumps in the custom format',
  ]);
});

test('room is needed for what is still to come and for the database', () => {
  expect(bytesNeeded({ total: 100, here: 0 })).toBe(400);
  expect(bytesNeeded({ total: 100, here: 100 })).toBe(300);
});

test('too little room is told in numbers, and an archive that cannot be asked for by its address', async () => {
  const room = roomForSnapshot(archives, '/data');
  const small = fakeHost([
    [/^df/, '  1000000000\n'],
    [/probe/, 'HTTP/1.1 206\r\ncontent-range: bytes 0-0/1000000000\r\n\r\n'],
  ]);
  await expect(room.apply(small)).rejects.toMatchObject({
    message: 'there is room for the snapshot: 8.0 GB needed in /data, 1.0 GB free',
    hint: 'make room, or put paths.data on a larger disk',
  });
  // Of a part with holes in it, what it has counts, and not how long it is.
  const begun = fakeHost(
    [
      [/^df/, '  1000000000\n'],
      [/probe/, 'HTTP/1.1 206\r\ncontent-range: bytes 0-0/1000000000\r\n\r\n'],
      [/^stat .*\.part/, '1000000 512\n'],
    ],
    { stat: async () => undefined },
  );
  expect(await room.check(begun)).toEqual(drift('7.0 GB needed in /data, 1.0 GB free'));
  const silent = fakeHost([
    [/^df/, '1\n'],
    [/snapshots\/state.*probe/s, 'HTTP/1.1 404 Not Found\r\n\r\n'],
    [/probe/, 'HTTP/1.1 200\r\n\r\n'],
  ]);
  expect(await room.check(silent)).toEqual(
    unknownUntil(
      'both archives tell their size (http://snapshots/state answers HTTP 404; http://snapshots/prover does not tell its size)',
    ),
  );
});

test('fetched archives that pg_restore cannot read, or that hold something else, are told', async () => {
  const host = fakeHost(
    [
      [/^command -v/, ''],
      [
        /testnet_state_db/,
        { exitCode: 1, stderr: 'pg_restore: error: input file does not appear to be a valid archive' },
      ],
      [/^pg_restore/, '215; 1259 16390 TABLE state l2block u\n'],
    ],
    { stat: async () => rootsFile },
  );
  await expect(archivesHoldTheirTables(archives).apply(host)).rejects.toMatchObject({
    message:
      'snapshot archives hold what their names say: /data/snapshot/testnet_state_db.sql.tar.gz: pg_restore: error: input file does not appear to be a valid archive; /data/snapshot/testnet_prover_db.sql.tar.gz holds no table state.nodes',
    hint: 'put right snapshot.state, snapshot.prover and snapshot.date in the inventory',
  });
});
