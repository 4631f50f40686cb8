import { expect, test } from 'vitest';
import { drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { archivesHoldTheirTables, archivesOf, roomForSnapshot } from './snapshot.ts';

const archive = (name: string) => ({ url: `http://snapshots/${name}`, sha256: 'a'.repeat(64) });
const snapshot = { state: archive('state'), prover: archive('prover'), date: '2024-05-01' };
const vars = {
  paths: { deployment: '/opt/rpc-node', data: '/data' },
  network: { kind: 'test' },
  snapshot,
} as unknown as Parameters<typeof archivesOf>[0];
const archives = archivesOf(vars);

test('the archives have the names of the spec on each network', () => {
  expect(archives.state.path).toBe('/data/snapshot/testnet_state_db.sql.tar.gz');
  expect(archives.prover.path).toBe('/data/snapshot/testnet_prover_db.sql.tar.gz');
});

const header = '     Avail Filesystem     Type  Mounted on\n';
/** As df prints it. */
const oneDisk = `${header}1000000000 /dev/sda1      ext4  /\n1000000000 /dev/sda1      ext4  /\n`;
const gigabyte = 'HTTP/1.1 206\r\ncontent-range: bytes 0-0/1000000000\r\n\r\n';

test.each<[what: string, df: string, problem: string]>([
  [
    'a small disk of its own',
    ' 9000000000 /dev/sda1      ext4  /\n 5000000000 /dev/nvme0n1   ext4  /data/state-db\n',
    '6.0 GB needed in /data/state-db, 5.0 GB free',
  ],
  [
    'a large disk of its own',
    ' 2000000000 /dev/sda1      ext4  /\n 6000000000 /dev/nvme0n1   ext4  /data/state-db\n',
    '',
  ],
  [
    'a disk of its own, and the download does not fit',
    ' 1000000000 /dev/sda1      ext4  /\n 5000000000 /dev/nvme0n1   ext4  /data/state-db\n',
    '2.0 GB needed in /data, 1.0 GB free; 6.0 GB needed in /data/state-db, 5.0 GB free',
  ],
  [
    'a subvolume of the same disk',
    ' 7000000000 /dev/sda1      btrfs /data\n 7000000000 /dev/sda1      btrfs /data/state-db\n',
    '8.0 GB needed in /data, 7.0 GB free',
  ],
  [
    'a file system of the same pool',
    ' 7000000000 tank/data      zfs   /data\n 7000000000 tank/state-db  zfs   /data/state-db\n',
    '8.0 GB needed in /data, 7.0 GB free',
  ],
  [
    'file systems without a device',
    ' 2000000000 tmpfs          tmpfs /data\n 6000000000 tmpfs          tmpfs /data/state-db\n',
    '',
  ],
  [
    'no folder of the databases yet',
    ' 7000000000 /dev/sda1      ext4  /\n',
    '8.0 GB needed in /data, 7.0 GB free',
  ],
])('the databases are judged by their own disk: %s', async (_, df, problem) => {
  const host = fakeHost(
    [
      [/^df .* \/data \/data\/state-db /, header + df],
      [/probe/, gigabyte],
    ],
    { stat: async () => undefined },
  );
  expect(await roomForSnapshot(archives, vars).check(host)).toEqual(problem === '' ? ok : drift(problem));
});

test('too little room is reported in numbers, and an archive of unknown size with its address', async () => {
  const room = roomForSnapshot(archives, vars);
  const small = fakeHost([
    [/^df/, oneDisk],
    [/probe/, gigabyte],
  ]);
  await expect(applyDrift(small, room)).rejects.toMatchObject({
    message: 'there is room for the snapshot: 8.0 GB needed in /data, 1.0 GB free',
    hint: 'make room, or put what does not fit on a larger disk: paths.data, or its folder state-db',
  });
  // Of a partial file with holes in it, the blocks count, not the length.
  const partial = fakeHost(
    [
      [/^df/, oneDisk],
      [/probe/, gigabyte],
      [/^stat .*\.part/, '1000000 512\n'],
    ],
    { stat: async () => undefined },
  );
  expect(await room.check(partial)).toMatchObject(drift('7.0 GB needed in /data, 1.0 GB free'));
  // Both archives are downloaded: what they unpack to is still needed.
  const downloaded = fakeHost(
    [
      [/^df/, oneDisk],
      [/probe/, gigabyte],
    ],
    { stat: async () => ({ ...rootsFile, size: 1e9 }) },
  );
  expect(await room.check(downloaded)).toMatchObject(drift('6.0 GB needed in /data, 1.0 GB free'));
  const silent = fakeHost([
    [/^df/, oneDisk],
    [/snapshots\/state.*probe/s, 'HTTP/1.1 404 Not Found\r\n\r\n'],
    [/probe/, 'HTTP/1.1 200\r\n\r\n'],
  ]);
  expect(await room.check(silent)).toEqual(
    unknownUntil(
      'the sizes of both archives are known (http://snapshots/state answers HTTP 404; http://snapshots/prover does not report its size)',
    ),
  );
});

test('downloaded archives that pg_restore cannot read, or that hold something else, are refused', async () => {
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
  await expect(applyDrift(host, archivesHoldTheirTables(archives))).rejects.toMatchObject({
    message:
      'snapshot archives hold their tables: /data/snapshot/testnet_state_db.sql.tar.gz: pg_restore: error: input file does not appear to be a valid archive; /data/snapshot/testnet_prover_db.sql.tar.gz holds no table state.nodes',
    hint: 'correct snapshot.state, snapshot.prover and snapshot.date in the inventory, or its snapshot.manifest and snapshot.from',
  });
});
