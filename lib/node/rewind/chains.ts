import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { type Answer, blockAt, blockNumber } from '../chain/chain.ts';
import { askChainId, isOfChain } from '../chain/reachable.ts';
import { stateDatabase } from '../databases/databases.ts';
import { layer1Url } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import type { Compared, Numbered } from './newest-common.ts';

/** The blocks of layer 2 in the state database, and the trusted sequencer. */
export function layer2Chains(host: Reader, vars: Variables): Compared {
  const { trusted_sequencer_url: url, l2_chain_id: id } = vars.network;
  return chains(host, vars, { table: 'state.l2block', url, id, name: 'the trusted sequencer' });
}

/** The blocks of layer 1 in the state database, and layer 1. */
export function layer1Chains(host: Reader, vars: Variables): Compared {
  const { chain_id: id } = vars.network;
  return chains(host, vars, { table: 'state.block', url: layer1Url(vars), id, name: 'layer 1' });
}

interface Named {
  readonly table: 'state.l2block' | 'state.block';
  readonly url: string;
  /** The chain id that the server at the URL has to answer. undefined for any. */
  readonly id: number | undefined;
  readonly name: string;
}

function chains(host: Reader, vars: Variables, { table, url, id, name }: Named): Compared {
  const query = (rest: string) =>
    firstBlock(host, stateDatabase(vars), `select block_num, block_hash from ${table} ${rest} limit 1`);
  return {
    name,
    here: (atMost) => query(`where block_num <= ${atMost} order by block_num desc`),
    oldest: () => query('order by block_num'),
    async there(block) {
      return withoutKey(await blockAt(host, url, block), url);
    },
    async newest() {
      const [chainId, head] = await Promise.all([askChainId(host, url), blockNumber(host, url)]);
      const ofChain = isOfChain(url, chainId, id);
      if (ofChain.is === 'drift') return { ok: false, error: ofChain.note ?? `${name} is another chain` };
      return withoutKey(head, url);
    },
  };
}

async function firstBlock(
  host: Reader,
  target: SqlTarget,
  query: string,
): Promise<Answer<Numbered | undefined>> {
  const answer = await host.sql(target, query);
  if (!answer.ok) return answer;
  const [block, hash] = answer.rows[0] ?? [];
  return { ok: true, value: block && hash ? { block: Number(block), hash } : undefined };
}

/** Providers put a key into the path, which must not be shown. */
function withoutKey<T>(answer: Answer<T>, url: string): Answer<T> {
  return answer.ok ? answer : { ok: false, error: answer.error.replaceAll(url, shownAddress(url)) };
}
