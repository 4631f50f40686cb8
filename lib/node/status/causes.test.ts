import { expect, test } from 'vitest';
import { explained } from './causes.ts';

test.each([
  [
    'error getting processor for batch: not a processor for this forkid',
    'the chain has a fork that this version of the node or the prover does not know: upgrade both',
  ],
  ['execution reverted', expect.stringContaining('genesis file and layer 1 are of different networks')],
  [
    'Unable to create migration plan because of supernets-0001.sql: unknown migration in database',
    expect.stringContaining('another version of the node'),
  ],
  [
    'error the component needs to run 22 migrations before starting. DB only contains 8 migrations',
    expect.stringContaining('has not migrated the state database yet'),
  ],
  ['pq: sorry, too many clients already', expect.stringContaining('a limit is used up')],
  ['query returned more than 10000 results', expect.stringContaining('ForkIDChunkSize')],
  [
    'panic: runtime error: invalid memory address or nil pointer dereference',
    expect.stringContaining('a fault of the program itself'),
  ],
  [
    'ERROR: could not resize shared memory segment "/PostgreSQL.1" to 8388608 bytes: No space left on device',
    '/dev/shm of the container is full, not a disk: raise state_db.shm_size',
  ],
  ['write /data/x: no space left on device', 'a disk is full'],
  [
    'could not create lock file "postmaster.pid": Read-only file system',
    expect.stringContaining('a disk is read-only'),
  ],
  [
    'could not read block 5 in file "base/16384/16397": Input/output error',
    'a disk has a fault: dmesg says which',
  ],
  [
    'could not map anonymous shared memory: Cannot allocate memory',
    expect.stringContaining('less free memory than PostgreSQL wants'),
  ],
  [
    'could not locate a valid checkpoint record',
    expect.stringContaining('files of the database are damaged or gone'),
  ],
  [
    'incorrect checksum in control file',
    expect.stringContaining('files of the database are damaged or gone'),
  ],
  [
    'postgres: could not find the database system',
    expect.stringContaining('files of the database are damaged or gone'),
  ],
  [
    'invalid page in block 5 of relation base/16384/16397',
    expect.stringContaining('files of the database are damaged or gone'),
  ],
  [
    'Your app has exceeded its compute units per second capacity',
    'the provider limits requests: use another, or a larger plan',
  ],
  [
    'Post "https://l1.example": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'the image does not have the authority of that certificate: authorities that were added to the server are not in its containers',
  ],
  [
    'pruned history unavailable',
    'the provider of layer 1 has nothing of that age any more: use one that keeps all of it',
  ],
  [
    'missing trie node 5f3a (path ) state 0x5f3a is not available',
    expect.stringContaining('has nothing of that age any more'),
  ],
  [
    'server returned an error response: error code -32005: query exceeds max results 20000',
    expect.stringContaining('limits how many blocks one request may cover'),
  ],
  [
    'the method zkevm_getBatchByNumber does not exist/is not available',
    'what answers is no trusted sequencer, or without the namespace zkevm: check network.trusted_sequencer_url',
  ],
  ['exec /app/zkevm-node: exec format error', 'the image is of another architecture than this server'],
  [
    "/app/zkevm-node: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app/zkevm-node)",
    'the image has an older C library than the program was built with: use an image of another build',
  ],
])('%s is followed by what it means', (words, means) => {
  const [, meaning] = /^.* \((.*)\)$/.exec(explained(words)) ?? [];
  expect(meaning).toEqual(means);
});

test('words without a known cause stay as they are', () => {
  expect(explained('it diverged')).toBe('it diverged');
});
