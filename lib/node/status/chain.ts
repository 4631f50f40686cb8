import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { type Answer, batchNumber, blockAt } from '../chain/chain.ts';
import { shownAddress } from '../chain/reachable.ts';

/** A block. Times are seconds since 1970. */
export interface Block {
  readonly block: number;
  readonly hash: string;
  readonly made: number;
}

/** The newest block of a chain. */
export interface Head extends Block {
  readonly batch?: number | undefined;
  /** When the synchronizer wrote it into the state database; undefined for another source. */
  readonly written?: number | undefined;
}

/** A source of a chain's blocks. */
export interface ChainSource {
  head(): Promise<Answer<Head>>;
  /** undefined where it has no such block. */
  blockAt(height: number): Promise<Answer<Block | undefined>>;
}

/** A JSON-RPC server, asked from the host. */
export function jsonRpcChain(host: Reader, url: string): ChainSource {
  // One answer has number, hash and time of the same block.
  const blockOf = async (which: number | 'latest'): Promise<Answer<Block | undefined>> => {
    const answer = await blockAt(host, url, which);
    if (answer.ok) {
      const { value } = answer;
      return { ok: true, value: value && { block: value.number, hash: value.hash, made: value.time } };
    }
    if (/curl: (command )?not found/.test(answer.error)) return { ok: false, error: 'cannot be asked without curl' };
    // Providers put a key into the path, which must not be shown.
    return { ok: false, error: answer.error.replaceAll(url, shownAddress(url)) };
  };
  return {
    async head() {
      const [block, batch] = await Promise.all([blockOf('latest'), batchNumber(host, url)]);
      if (!block.ok) return block;
      if (!block.value) return { ok: false, error: `${shownAddress(url)} has no block` };
      return { ok: true, value: { ...block.value, batch: batch.ok ? batch.value : undefined } };
    },
    blockAt: blockOf,
  };
}

const columns = 'block_hash, block_num, extract(epoch from received_at), batch_num, extract(epoch from created_at)';

/** The state database, which the synchronizer fills. */
export function stateChain(host: Reader, state: SqlTarget): ChainSource {
  const newest = async (condition: string): Promise<Answer<Head | undefined>> => {
    const query = `select ${columns} from state.l2block where ${condition} order by block_num desc limit 1`;
    const result = await host.sql(state, query);
    if (!result.ok) return result;
    const [hash, ...numbers] = result.rows[0] ?? [];
    if (numbers.length === 0) return { ok: true, value: undefined };
    const [block = 0, made = 0, batch, written] = numbers.map(Number);
    return { ok: true, value: { block, hash: hash ?? '', made, batch, written } };
  };
  return {
    async head() {
      const answer = await newest('true');
      if (!answer.ok) return answer;
      return answer.value ? { ok: true, value: answer.value } : { ok: false, error: 'state.l2block is empty' };
    },
    blockAt: (height) => newest(`block_num = ${height}`),
  };
}

/**
 * Compares hashes at the highest block that both have. A block that is known already is not asked for again.
 *
 * @returns with `missingSince`, when the trusted sequencer made the first block that the host lacks; undefined where it lacks none
 */
export async function compare(own: Head, here: ChainSource, trusted: Head, there: ChainSource) {
  const height = Math.min(own.block, trusted.block);
  const get = async (source: ChainSource, head: Head, at: number): Promise<Answer<Block | undefined>> =>
    head.block === at ? { ok: true, value: head } : source.blockAt(at);
  const [ours, theirs, missing] = await Promise.all([
    get(here, own, height),
    get(there, trusted, height),
    trusted.block > height ? get(there, trusted, height + 1) : undefined,
  ]);
  if (!ours.ok) return ours;
  if (!theirs.ok) return theirs;
  if (!ours.value || !theirs.value) {
    const error = `${ours.value ? 'the trusted sequencer' : 'this host'} has no block ${height}`;
    return { ok: false, error } as const;
  }
  const hashes = { here: ours.value.hash, there: theirs.value.hash };
  const missingSince = missing?.ok ? missing.value?.made : undefined;
  return { ok: true, value: { height, same: hashes.here === hashes.there, ...hashes, missingSince } } as const;
}
