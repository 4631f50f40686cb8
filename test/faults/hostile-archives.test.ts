import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { genesisFaults } from '../../lib/node/chain/genesis.ts';
import { archiveProblems } from '../../lib/node/snapshot/archive-problems.ts';
import { readDumpHeader } from '../../lib/node/snapshot/dump-header.ts';
import { generations } from '../../lib/node/variables/generation.ts';
import { takenOrRefused } from './outcome.ts';
import { seed } from './seed.ts';

const dump = (name: string) =>
  readFileSync(new URL(`../../lib/node/snapshot/testdata/${name}.dump`, import.meta.url));
const wanted = { ...generations.current, chainId: 55555 };

const address = (i: number) => `0x${i.toString(16).padStart(40, '0')}`;
const account = (i: number) => ({
  balance: '0',
  nonce: '0',
  address: address(i),
  contractName: 'c',
  bytecode: '0x60',
  storage: { '0x0': '0x1' },
});
const genesis = (accounts: unknown) => ({
  root: `0x${'0'.repeat(64)}`,
  ...Object.fromEntries(wanted.genesisBlocks.map((key) => [key, 1])),
  l1Config: {
    chainId: 55555,
    ...Object.fromEntries(wanted.genesisContracts.map((key, i) => [key, address(i)])),
  },
  genesis: accounts,
});

describe('hostile archives and genesis files', () => {
  test('10,000 damaged beginnings of snapshot archives: reported as what they are', {
    timeout: 120_000,
  }, async () => {
    const good = [dump('state'), dump('prover')].map((bytes) => bytes.subarray(0, 4096));
    const edits = fc.array(fc.tuple(fc.nat(4096), fc.uint8Array({ maxLength: 6 })), {
      minLength: 1,
      maxLength: 6,
    });
    const bytes = fc.oneof(
      fc.tuple(fc.constantFrom(...good), edits).map(([of, all]) => {
        const copy = Buffer.from(of);
        for (const [at, put] of all) copy.set(put, Math.min(at % 200, copy.length - put.length));
        return copy;
      }),
      fc.tuple(fc.constantFrom(...good), fc.nat(4096)).map(([of, at]) => of.subarray(0, at)),
      fc
        .uint8Array({ maxLength: 400 })
        .map((tail) => Buffer.concat([Buffer.from('PGDMP\x01\x0e\x00', 'latin1'), tail])),
      fc.uint8Array({ maxLength: 400 }).map((all) => Buffer.from(all)),
    );
    const archive = (store: 'state' | 'prover') => ({
      store,
      url: 'http://a.example',
      sha256: '',
      path: '/x',
      table: 'state.x',
    });
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (one, other) => {
        const headers = await takenOrRefused(
          () => [readDumpHeader(one), readDumpHeader(other)],
          one.toString('hex'),
        );
        const [first, second] = headers ?? [];
        if (!first || !second) throw new Error('no header');
        const problems = archiveProblems(
          { archive: archive('state'), header: first },
          { archive: archive('prover'), header: second },
          '1999-01-01',
        );
        // At least of another day.
        expect(problems.length).toBeGreaterThan(0);
      }),
      { numRuns: 10_000, seed },
    );
  });

  test('an archive header of 64 KiB that promises tables without end is read to its end and no further', () => {
    const header = dump('state').subarray(0, 200);
    for (const fill of [0, 1, 0x7f, 0xff]) {
      const before = process.cpuUsage();
      readDumpHeader(Buffer.concat([header, Buffer.alloc(64 * 1024, fill)]));
      // Of the processor, in microseconds: other programs lengthen the time itself.
      expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    }
  });

  test('5,000 damaged genesis files: faults in words', { timeout: 120_000 }, async () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>('$(x)', '\u001b[2J', '../x', { toString: 1 }, -1, 1e308),
    );
    const keys = ['root', 'l1Config', 'genesis', '__proto__', 'constructor', ...wanted.genesisBlocks];
    const text = fc.oneof(
      fc
        .dictionary(fc.constantFrom(...keys), value)
        .map((changes) => JSON.stringify({ ...genesis([account(1)]), ...changes })),
      fc.array(value, { maxLength: 4 }).map((accounts) => JSON.stringify(genesis(accounts))),
      fc.tuple(fc.nat(600), fc.string({ unit: 'binary', maxLength: 4 })).map(([at, put]) => {
        const good = JSON.stringify(genesis([account(1)]));
        return good.slice(0, at) + put + good.slice(at + 2);
      }),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(text, async (said) => {
        const faults = await takenOrRefused(() => genesisFaults(said, wanted), said);
        expect(Array.isArray(faults)).toBe(true);
      }),
      { numRuns: 5000, seed },
    );
  });

  test.each<[string, () => string]>([
    [
      'of 200,000 accounts',
      () => JSON.stringify(genesis(Array.from({ length: 200_000 }, (_, i) => account(i)))),
    ],
    [
      'of one account 200,000 times',
      () => JSON.stringify(genesis(Array.from({ length: 200_000 }, () => account(1)))),
    ],
    [
      'of 200,000 accounts that are none',
      () => JSON.stringify(genesis(Array.from({ length: 200_000 }, () => null))),
    ],
    ['nested a million levels deep', () => '['.repeat(1_000_000)],
  ])('a genesis file %s is judged within seconds', { timeout: 60_000 }, async (_, text) => {
    const said = text();
    const faults = await takenOrRefused(() => genesisFaults(said, wanted), said.slice(0, 60));
    expect(Array.isArray(faults)).toBe(true);
  });
});
