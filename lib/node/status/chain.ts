import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { type Answer, batchNumber, blockAt } from '../chain/chain.ts';
import { shownAddress } from '../chain/reachable.ts';

/** A block. Times are seconds since 1970. */
export interface ComparedBlock {
  readonly block: number;
  readonly hash: string;
  readonly made: number;
  readonly batch?: number | undefined;
  /** When the synchronizer wrote it into the state database; undefined for another source. */
  readonly written?: number | undefined;
}

/** A source of a chain's blocks. */
export interface ChainSource {
  /** undefined if it has no such block. */
  blockAt(which: number | 'latest'): Promise<Answer<ComparedBlock | undefined>>;
  /** The message if it has no block at all. */
  readonly empty: string;
}

/** The hashes of two chains at one height. */
export interface Comparison {
  readonly height: number;
  readonly same: boolean;
  readonly here: string;
  readonly there: string;
  /** When the trusted sequencer made the first block that the host lacks; undefined where it lacks none. */
  readonly missingSince: number | undefined;
}

/** The newest block. */
export async function newestBlock({ blockAt, empty }: ChainSource): Promise<Answer<ComparedBlock>> {
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
        if (!answer.value) return { ok: true, value: undefined };
        const { number, hash, time } = answer.value;
        return { ok: true, value: { block: number, hash, made: time, batch: batch?.ok ? batch.value : undefined } };
      }
      // Providers put a key into the path, which must not be shown.
      return { ok: false, error: answer.error.replaceAll(url, shownAddress(url)) };
    },
  };
}

const columns = 'block_hash, block_num, extract(epoch from received_at), batch_num, extract(epoch from created_at)';

/** The state database, which the synchronizer fills. */
export function stateChain(host: Reader, state: SqlTarget): ChainSource {
  return {
    empty: 'state.l2block is empty',
    async blockAt(which) {
      const condition = which === 'latest' ? 'true' : `block_num = ${which}`;
      const query = `select ${columns} from state.l2block where ${condition} order by block_num desc limit 1`;
      const result = await host.sql(state, query);
      if (!result.ok) return result;
      const [hash, ...numbers] = result.rows[0] ?? [];
      const [block, made = 0, batch, written] = numbers.map(Number);
      return { ok: true, value: block === undefined ? undefined : { block, hash: hash ?? '', made, batch, written } };
    },
  };
}

/** Compares hashes at the highest block that both have. A known block is not requested again. */
export async function compare(
  own: ComparedBlock,
  here: ChainSource,
  trusted: ComparedBlock,
  there: ChainSource,
): Promise<Answer<Comparison>> {
  const height = Math.min(own.block, trusted.block);
  const get = async (
    source: ChainSource,
    newest: ComparedBlock,
    at: number,
  ): Promise<Answer<ComparedBlock | undefined>> =>
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
