import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import {
  checkedAgainAfter,
  drift,
  expectation,
  ok,
  unknownUntil,
  warning,
} from '../../engine/resource/resource.ts';
import { blockQuery } from '../chain/chain.ts';
import { type BlockPair, newestBlockPair } from '../chain/newest-block.ts';
import type { Variables } from '../variables/variables.ts';
import { compare, jsonRpcChain, newestBlock, stateChain } from './chain.ts';
import { divergedWords } from './words.ts';

/**
 * The blocks of a component are those of the trusted sequencer, as `status` compares them: a fork
 * does not heal by itself. They cannot be compared while the sequencer is away: that is a warning,
 * as the component serves the blocks that it has.
 *
 * @param from the state database, or the URL of json-rpc on the host
 */
export function isOnTrustedChain(
  component: 'sync' | 'json-rpc' | 'state-db',
  from: SqlTarget | string,
  vars: Variables,
): Resource {
  return checkedAgainAfter(
    expectation(`blocks of ${component} are those of the trusted sequencer`, {
      check: (host) => compareWithTrusted(host, component, from, vars.network.trusted_sequencer_url),
      hint: 'check network.trusted_sequencer_url in the inventory; if it is right, rewind.mjs deletes the blocks that it does not have (docs/rewind.md)',
    }),
    component,
  );
}

async function compareWithTrusted(host: Reader, component: string, from: SqlTarget | string, url: string) {
  const source = typeof from === 'string' ? { url: from } : { target: from, query: blockQuery() };
  const [pair, container] = await Promise.all([
    newestBlockPair(host, source, url),
    host.container(component),
  ]);
  if (!container?.running) return unknownUntil(`${component} is running`);
  if (!pair.ok) return drift(pair.error);
  if (!pair.value) return unknownUntil(`${component} has a block`);
  const { here, there } = pair.value;
  if (!there.ok) return warning(`not compared: ${there.error}`);
  if (!there.value) return compareLower(host, here, from, url);
  const [height, hash] = [here.block, there.value.hash];
  return hash === here.hash ? ok : drift(divergedWords({ height, here: here.hash, there: hash }));
}

/**
 * The host has more blocks than the trusted sequencer: their common height is the sequencer's
 * newest block.
 */
async function compareLower(host: Reader, own: BlockPair['here'], from: SqlTarget | string, url: string) {
  const there = jsonRpcChain(host, url);
  const trusted = await newestBlock(there);
  if (!trusted.ok) return warning(`not compared: ${trusted.error}`);
  const here = typeof from === 'string' ? jsonRpcChain(host, from) : stateChain(host, from);
  const compared = await compare(own, here, trusted.value, there);
  if (!compared.ok) return drift(compared.error);
  return compared.value.same ? ok : drift(divergedWords(compared.value));
}
