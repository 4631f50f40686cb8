import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { type ChainSource, compare, jsonRpcChain, stateChain } from './chain.ts';
import type { Block, Head } from './status.ts';

/** A chain up to a block that tells of what it was asked. */
function chainUpTo(newest: number, name = 'block') {
  const asked: number[] = [];
  const block = (number: number): Block => ({ number, hash: `${name} ${number}`, time: 2 * number });
  const head: Head = { block: block(newest), batch: undefined, written: undefined };
  const source: ChainSource = {
    head: async () => ({ ok: true, value: head }),
    blockAt: async (height) => {
      asked.push(height);
      return { ok: true, value: height <= newest ? block(height) : undefined };
    },
  };
  return { asked, head, source };
}

async function compared(own: ReturnType<typeof chainUpTo>, trusted: ReturnType<typeof chainUpTo>) {
  const answer = await compare(own.head, own.source, trusted.head, trusted.source);
  return { answer, asked: [own.asked, trusted.asked] };
}

test('two at the same block need no further question', async () => {
  expect(await compared(chainUpTo(10), chainUpTo(10))).toEqual({
    answer: { ok: true, value: { height: 10, here: 'block 10', there: 'block 10', missingSince: undefined } },
    asked: [[], []],
  });
});

test('a host behind is compared at its own block, and the first that it lacks tells since when', async () => {
  expect(await compared(chainUpTo(7), chainUpTo(10))).toEqual({
    answer: { ok: true, value: { height: 7, here: 'block 7', there: 'block 7', missingSince: 16 } },
    asked: [[], [7, 8]],
  });
  expect((await compared(chainUpTo(9), chainUpTo(10))).asked).toEqual([[], [9]]);
});

test('a host ahead is compared at the trusted block', async () => {
  expect(await compared(chainUpTo(12), chainUpTo(10, 'other'))).toEqual({
    answer: { ok: true, value: { height: 10, here: 'block 10', there: 'other 10', missingSince: undefined } },
    asked: [[10], []],
  });
});

test('where a block is not to be had, that is said', async () => {
  const gone = chainUpTo(10);
  const trusted = {
    ...gone,
    source: { ...gone.source, blockAt: async () => ({ ok: true, value: undefined }) as const },
  };
  const own = chainUpTo(7);
  expect(await compare(own.head, own.source, trusted.head, trusted.source)).toEqual({
    ok: false,
    error: 'the trusted sequencer has no block 7',
  });
});

test('a host that lacks the block itself says so', async () => {
  const [own, trusted] = [chainUpTo(12), chainUpTo(10)];
  const without = { ...own.source, blockAt: async () => ({ ok: true, value: undefined }) as const };
  expect(await compare(own.head, without, trusted.head, trusted.source)).toEqual({
    ok: false,
    error: 'this host has no block 10',
  });
});

test('a chain that cannot be asked, or has nothing, says why', async () => {
  const url = 'http://localhost:8123';
  expect(await jsonRpcChain(fakeHost([]), url).head()).toEqual({
    ok: false,
    error: 'http://localhost:8123 does not answer: not found',
  });
  const empty = fakeHost([[/probe/, 'HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":null}']], {
    sql: async () => ({ ok: true, rows: [] }),
  });
  expect(await jsonRpcChain(empty, url).head()).toEqual({ ok: false, error: `${url} has no block` });
  expect(await stateChain(empty, { container: 'state-db', user: 'u', database: 'd' }).head()).toEqual({
    ok: false,
    error: 'state.l2block is empty',
  });
});
