import type { Answer, Block } from '../chain/chain.ts';

/** A block by number and hash. */
export type Numbered = Pick<Block, 'block' | 'hash'>;

/** Two chains that are compared block by block. Only the one here may lack numbers in between. */
export interface Compared {
  /** The newest block here that is not newer than a number; undefined for none. */
  here(atMost: number): Promise<Answer<Numbered | undefined>>;
  /** The oldest block here. */
  oldest(): Promise<Answer<Numbered | undefined>>;
  /** The block there of a number; undefined for none. */
  there(block: number): Promise<Answer<Numbered | undefined>>;
  /** The number of the newest block there. */
  newest(): Promise<Answer<number>>;
  /** The other chain, for messages: `the trusted sequencer`. */
  readonly name: string;
}

/** Where two chains part. */
export interface Parting {
  /** The newest block here that both have. */
  readonly common: number;
  /** The oldest block here that the other chain does not have. */
  readonly wrong: Numbered;
}

/**
 * Finds where a chain here leaves another one. As each hash covers all blocks before, it looks
 * back from the newest block in steps that double, up to a half, and then halves.
 *
 * @returns undefined where the newest block that both can have is the same
 */
export async function findParting(chains: Compared): Promise<Answer<Parting | undefined>> {
  const head = await chains.newest();
  if (!head.ok) return head;
  const newest = await chains.here(head.value);
  if (!newest.ok || !newest.value) return newest.ok ? { ok: true, value: undefined } : newest;
  const same = await isCommon(chains, newest.value);
  if (!same.ok || same.value) return same.ok ? { ok: true, value: undefined } : same;
  const oldest = await chains.oldest();
  if (!oldest.ok) return oldest;
  const hasBegin = oldest.value ? await isCommon(chains, oldest.value) : { ok: true as const, value: false };
  if (!hasBegin.ok) return hasBegin;
  if (!hasBegin.value || !oldest.value)
    return { ok: false, error: `${chains.name} has none of the blocks here: it is another chain` };
  return halve(chains, oldest.value.block, newest.value);
}

/**
 * @param low a block that both have
 * @param high a later one here that the other chain does not have
 */
async function halve(chains: Compared, low: number, high: Numbered): Promise<Answer<Parting>> {
  let [common, wrong] = [low, high];
  for (let back = 1, isBounded = false; wrong.block - common > 1; back *= 2) {
    const middle = Math.floor((common + wrong.block) / 2);
    const at: number = isBounded ? middle : Math.max(middle, wrong.block - back);
    const own = await chains.here(at);
    if (!own.ok) return own;
    // No block lies between them.
    const same =
      own.value && own.value.block > common
        ? await isCommon(chains, own.value)
        : { ok: true as const, value: true };
    if (!same.ok) return same;
    if (same.value) [common, isBounded] = [at, true];
    else if (own.value) wrong = own.value;
  }
  const left = await chains.here(common);
  return left.ok ? { ok: true, value: { common: left.value?.block ?? common, wrong } } : left;
}

/** A server that lacks a block below its newest one, such as a pruned one, shows nothing. */
async function isCommon({ there, name }: Compared, { block, hash }: Numbered): Promise<Answer<boolean>> {
  const other = await there(block);
  if (!other.ok) return other;
  if (!other.value) return { ok: false, error: `${name} has no block ${block}, and has later ones` };
  return { ok: true, value: other.value.hash.toLowerCase() === hash.toLowerCase() };
}
