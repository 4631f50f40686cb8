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
])('%s is followed by what it means', (words, means) => {
  const [, meaning] = /^.* \((.*)\)$/.exec(explained(words)) ?? [];
  expect(meaning).toEqual(means);
});

test('words without a known cause stay as they are', () => {
  expect(explained('it diverged')).toBe('it diverged');
});
