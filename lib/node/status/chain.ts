import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { type Answer, batchNumber, blockAt } from '../chain/chain.ts';
import { shownAddress } from '../chain/reachable.ts';
import type { Block, Comparison, Head } from './status.ts';

/** Somewhere that knows a chain's blocks. */
export interface ChainSource {
  head(): Promise<Answer<Head>>;
  /** undefined where it has no such block. */
  blockAt(height: number): Promise<Answer<Block | undefined>>;
}

/** A JSON-RPC server, asked from the host. */
export function jsonRpcChain(host: Reader, url: string): ChainSource {
  const discreet = <T>(answer: Answer<T>): Answer<T> => {
    if (answer.ok) return answer;
    // Providers put a key into the path, which must not get into what is shown.
    return { ok: false, error: answer.error.replaceAll(url, shownAddress(url)) };
  };
  return {
    async head() {
      // One answer tells number, hash and time of the same block.
      const [block, batch] = await Promise.all([blockAt(host, url, 'latest'), batchNumber(host, url)]);
      if (!block.ok) return discreet(block);
      if (!block.value) return { ok: false, error: `${shownAddress(url)} has no block` };
      return { ok: true, value: { block: block.value, batch: batch.ok ? batch.value : undefined, written: undefined } };
    },
    blockAt: async (height) => discreet(await blockAt(host, url, height)),
  };
}

const columns = 'block_num, block_hash, extract(epoch from received_at), batch_num, extract(epoch from created_at)';

/** The state database, which the synchronizer fills. */
export function stateChain(host: Reader, state: SqlTarget): ChainSource {
  const newest = async (condition: string): Promise<Answer<Head | undefined>> => {
    const result = await host.sql(
      state,
      `select ${columns} from state.l2block where ${condition} order by block_num desc limit 1`,
    );
    if (!result.ok) return result;
    const [row] = result.rows;
    if (!row) return { ok: true, value: undefined };
    const [number, hash, time, batch, written] = row;
    const block = { number: Number(number), hash: hash ?? '', time: Number(time) };
    return { ok: true, value: { block, batch: Number(batch), written: Number(written) } };
  };
  return {
    async head() {
      const answer = await newest('true');
      if (!answer.ok) return answer;
      return answer.value ? { ok: true, value: answer.value } : { ok: false, error: 'state.l2block is empty' };
    },
    async blockAt(height) {
      const answer = await newest(`block_num = ${height}`);
      return answer.ok ? { ok: true, value: answer.value?.block } : answer;
    },
  };
}

/** Compares hashes at the highest block that both have. What is known already is not asked again. */
export async function compare(
  own: Head,
  here: ChainSource,
  trusted: Head,
  there: ChainSource,
): Promise<Answer<Comparison>> {
  const height = Math.min(own.block.number, trusted.block.number);
  const known = (block: Block): Answer<Block | undefined> => ({ ok: true, value: block });
  const next = height + 1;
  const [ours, theirs, missing] = await Promise.all([
    own.block.number === height ? known(own.block) : here.blockAt(height),
    trusted.block.number === height ? known(trusted.block) : there.blockAt(height),
    trusted.block.number <= height
      ? undefined
      : trusted.block.number === next
        ? known(trusted.block)
        : there.blockAt(next),
  ]);
  if (!ours.ok) return ours;
  if (!theirs.ok) return theirs;
  if (!ours.value || !theirs.value) {
    return { ok: false, error: `${ours.value ? 'the trusted sequencer' : 'this host'} has no block ${height}` };
  }
  const missingSince = missing?.ok ? missing.value?.time : undefined;
  return { ok: true, value: { height, here: ours.value.hash, there: theirs.value.hash, missingSince } };
}
