import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { Block } from '../chain/chain.ts';
import { type ChainSource, compare, jsonRpcChain, newestBlock, stateChain } from './chain.ts';

/** A chain up to a block, with a list of the requested heights. */
function chainUpTo(newest: number, name = 'block') {
  const asked: number[] = [];
  const block = (number: number): Block => ({ block: number, hash: `${name} ${number}`, made: 2 * number });
  const head = block(newest);
  const source: ChainSource = {
    empty: 'no block',
    blockAt: async (height) => {
      if (height === 'latest') return { ok: true, value: head };
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

test('two hosts at the same block need no further request', async () => {
  expect(await compared(chainUpTo(10), chainUpTo(10))).toEqual({
    answer: {
      ok: true,
      value: { height: 10, same: true, here: 'block 10', there: 'block 10', missingSince: undefined },
    },
    asked: [[], []],
  });
});

test('a host that is behind is compared at its own block, and its first missing block shows since when', async () => {
  expect(await compared(chainUpTo(7), chainUpTo(10))).toEqual({
    answer: {
      ok: true,
      value: { height: 7, same: true, here: 'block 7', there: 'block 7', missingSince: 16 },
    },
    asked: [[], [7, 8]],
  });
  expect((await compared(chainUpTo(9), chainUpTo(10))).asked).toEqual([[], [9]]);
});

test('a host that is ahead is compared at the trusted block', async () => {
  expect(await compared(chainUpTo(12), chainUpTo(10, 'other'))).toEqual({
    answer: {
      ok: true,
      value: { height: 10, same: false, here: 'block 10', there: 'other 10', missingSince: undefined },
    },
    asked: [[10], []],
  });
});

test('a block that cannot be read is reported', async () => {
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

test('a host without the block itself is reported', async () => {
  const [own, trusted] = [chainUpTo(12), chainUpTo(10)];
  const without = { ...own.source, blockAt: async () => ({ ok: true, value: undefined }) as const };
  expect(await compare(own.head, without, trusted.head, trusted.source)).toEqual({
    ok: false,
    error: 'this host has no block 10',
  });
});

test('a chain that cannot be queried, or is empty, is reported with the reason', async () => {
  const url = 'http://localhost:8123';
  expect(await newestBlock(jsonRpcChain(fakeHost([]), url))).toEqual({
    ok: false,
    error: 'http://localhost:8123 does not answer: not found',
  });
  const empty = fakeHost([[/probe/, 'HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":null}']], {
    sql: async () => ({ ok: true, rows: [] }),
  });
  expect(await newestBlock(jsonRpcChain(empty, url))).toEqual({ ok: false, error: `${url} has no block` });
  const full = fakeHost([], {
    sql: async () => ({ ok: true, rows: [['0xa', '12', '1700000000.5', '3', '1700000001']] }),
  });
  const state = { container: 'state-db', user: 'u', database: 'd' };
  const head = { block: 12, hash: '0xa', made: 1_700_000_000.5, batch: 3, written: 1_700_000_001 };
  expect(await newestBlock(stateChain(full, state))).toEqual({ ok: true, value: head });
  expect(await newestBlock(stateChain(empty, state))).toEqual({
    ok: false,
    error: 'state.l2block is empty',
  });
});
