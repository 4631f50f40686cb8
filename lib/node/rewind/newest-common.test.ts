import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Compared, findParting } from './newest-common.ts';

/**
 * Two chains: the one here has some numbers, and the other one has other blocks from a number on.
 *
 * @param newest of the other chain
 */
function chainsOf(numbers: readonly number[], parts: number, newest: number) {
  const asked = { here: 0, there: [] as number[] };
  const own = (block: number | undefined) =>
    block === undefined ? undefined : { block, hash: `0xA${block}` };
  const chains: Compared = {
    name: 'the other chain',
    here: async (atMost) => {
      asked.here += 1;
      return { ok: true, value: own(numbers.findLast((number) => number <= atMost)) };
    },
    oldest: async () => ({ ok: true, value: own(numbers[0]) }),
    there: async (block) => {
      asked.there.push(block);
      return {
        ok: true,
        value: block > newest ? undefined : { block, hash: `${block < parts ? '0xa' : '0xb'}${block}` },
      };
    },
    newest: async () => ({ ok: true, value: newest }),
  };
  return { chains, asked };
}

const upTo = (newest: number) => Array.from({ length: newest + 1 }, (_, at) => at);

test('the newest block that both have is found, wherever they part, also between missing numbers', async () => {
  const numbers = fc.uniqueArray(fc.nat(3000), { minLength: 2 }).map((all) => all.toSorted((a, b) => a - b));
  await fc.assert(
    fc.asyncProperty(numbers, fc.nat(3100), fc.nat(3100), async (own, parts, newest) => {
      const { chains } = chainsOf(own, parts, newest);
      const found = await findParting(chains);
      const compared = own.filter((number) => number <= newest);
      const common = compared.findLast((number) => number < parts);
      const wrong = compared.find((number) => number >= parts);
      if (wrong === undefined) expect(found).toEqual({ ok: true, value: undefined });
      else if (common === undefined) expect(found.ok).toBe(false);
      else
        expect(found).toEqual({ ok: true, value: { common, wrong: { block: wrong, hash: `0xA${wrong}` } } });
    }),
  );
});

test('one question is enough where the chains agree, and a few where they part', async () => {
  const agreed = chainsOf(upTo(1000), 2000, 1500);
  await findParting(agreed.chains);
  expect(agreed.asked).toEqual({ here: 1, there: [1000] });
  const recent = chainsOf(upTo(1_000_000), 999_990, 1_500_000);
  await findParting(recent.chains);
  expect(recent.asked.there.length).toBeLessThan(12);
  // No old block is asked for, but the first: a server may be slow with them.
  expect(recent.asked.there.filter((block) => block < 999_900)).toEqual([0]);
  const deep = chainsOf(upTo(1_000_000), 77, 1_500_000);
  await findParting(deep.chains);
  expect(deep.asked.there.length).toBeLessThan(42);
});

test('a host that has more blocks than the other chain is compared at the newest of that', async () => {
  expect(await findParting(chainsOf(upTo(20), 30, 10).chains)).toEqual({ ok: true, value: undefined });
  expect(await findParting(chainsOf(upTo(20), 10, 10).chains)).toMatchObject({
    value: { common: 9, wrong: { block: 10 } },
  });
  expect(await findParting(chainsOf([], 10, 10).chains)).toEqual({ ok: true, value: undefined });
});

test('a server that has no older blocks, and another chain, show nothing', async () => {
  const { chains } = chainsOf(upTo(20), 10, 30);
  const pruned: Compared = {
    ...chains,
    there: async (block) => (block < 5 ? { ok: true, value: undefined } : chains.there(block)),
  };
  expect(await findParting(pruned)).toEqual({
    ok: false,
    error: 'the other chain has no block 0, and has later ones',
  });
  expect(await findParting(chainsOf(upTo(20), 0, 30).chains)).toEqual({
    ok: false,
    error: 'the other chain has none of the blocks here: it is another chain',
  });
});

test.each(['here', 'oldest', 'there', 'newest'] as const)('an error of %s is the answer', async (which) => {
  const { chains } = chainsOf(upTo(20), 10, 30);
  const broken: Compared = { ...chains, [which]: async () => ({ ok: false, error: 'away' }) };
  expect(await findParting(broken)).toEqual({ ok: false, error: 'away' });
});
