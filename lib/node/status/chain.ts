import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { type Answer, type Block, batchNumber, blockAt, blockOfRow, blockQuery } from '../chain/chain.ts';

/** A source of a chain's blocks. */
export interface ChainSource {
  /** undefined if it has no such block. */
  blockAt(which: number | 'latest'): Promise<Answer<Block | undefined>>;
  /** The message if it has no block at all. */
  readonly empty: string;
}

/** The hashes of two chains at one height. */
export interface Comparison {
  readonly height: number;
  readonly same: boolean;
  readonly here: string;
  readonly there: string;
  /**
   * When the trusted sequencer made the first block that the host lacks; undefined where it lacks
   * none.
   */
  readonly missingSince: number | undefined;
}

/** The newest block. */
export async function newestBlock({ blockAt, empty }: ChainSource): Promise<Answer<Block>> {
  const answer = await blockAt('latest');
  if (!answer.ok) return answer;
  return answer.value ? { ok: true, value: answer.value } : { ok: false, error: empty };
}

/** A JSON-RPC server, asked from the host. */
export function jsonRpcChain(host: Reader, url: string): ChainSource {
  return {
    empty: `${shownAddress(url)} has no block`,
    async blockAt(which) {
      // One answer has number, hash and time of the same block.
      const [answer, batch] = await Promise.all([
        blockAt(host, url, which),
        which === 'latest' ? batchNumber(host, url) : undefined,
      ]);
      if (answer.ok) {
        const value = answer.value && { ...answer.value, batch: batch?.ok ? batch.value : undefined };
        return { ok: true, value };
      }
      // Providers put a key into the path, which must not be shown.
      return { ok: false, error: answer.error.replaceAll(url, shownAddress(url)) };
    },
  };
}

/** The state database, which the synchronizer fills. */
export function stateChain(host: Reader, state: SqlTarget): ChainSource {
  return {
    empty: 'state.l2block is empty',
    async blockAt(which) {
      const result = await host.sql(
        state,
        blockQuery(which === 'latest' ? undefined : `block_num = ${which}`),
      );
      return result.ok ? blockOfRow(result.rows[0]) : result;
    },
  };
}

/** Compares hashes at the highest block that both have. A known block is not requested again. */
export async function compare(
  own: Block,
  here: ChainSource,
  trusted: Block,
  there: ChainSource,
): Promise<Answer<Comparison>> {
  const height = Math.min(own.block, trusted.block);
  const get = async (source: ChainSource, newest: Block, at: number): Promise<Answer<Block | undefined>> =>
    newest.block === at ? { ok: true, value: newest } : source.blockAt(at);
  const [ours, theirs, missing] = await Promise.all([
    get(here, own, height),
    get(there, trusted, height),
    trusted.block > height ? get(there, trusted, height + 1) : undefined,
  ]);
  if (!ours.ok) return ours;
  if (!theirs.ok) return theirs;
  if (!ours.value || !theirs.value) {
    const error = `${ours.value ? 'the trusted sequencer' : 'this host'} has no block ${height}`;
    return { ok: false, error };
  }
  const hashes = { here: ours.value.hash, there: theirs.value.hash };
  const missingSince = missing?.ok ? missing.value?.made : undefined;
  return { ok: true, value: { height, same: hashes.here === hashes.there, ...hashes, missingSince } };
}
