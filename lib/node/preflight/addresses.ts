import { expectation, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { answersForChain, downloads } from '../chain/reachable.ts';
import { genesisPath } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';
import { goal } from './known.ts';
import { registriesAnswer } from './registries.ts';
import { snapshotCanBeDownloaded } from './restore.ts';

/** Every address outside that this host needs answers. It does not need again what it has already downloaded. */
export function addressesAnswer({ host, vars }: Context<Variables>): Resource[] {
  const { node, prover, database } = vars.images;
  // It pulls the image of the database alone.
  if (host.groups.includes('replica')) return registriesAnswer(vars, [database]);
  return [
    ...chainsAnswer(vars),
    genesisCanBeDownloaded(vars),
    ...registriesAnswer(vars, [node, prover, database]),
    ...(host.groups.includes('database') ? snapshotCanBeDownloaded(vars) : []),
  ];
}

function chainsAnswer({ network }: Variables): Resource[] {
  const { trusted_sequencer_url, l1_rpc_url, chain_id, l2_chain_id } = network;
  return [
    expectation('trusted sequencer answers', {
      check: (reader) => answersForChain(reader, trusted_sequencer_url, l2_chain_id),
      hint: 'check network.trusted_sequencer_url and network.l2_chain_id in the inventory, and the firewall of this host',
    }),
    expectation('layer 1 answers', {
      check: (reader) => answersForChain(reader, l1_rpc_url, chain_id),
      hint: 'check network.l1_rpc_url and network.chain_id in the inventory: the node ends at its start when layer 1 does not answer, and with another chain it drops its blocks of layer 1',
    }),
  ];
}

function genesisCanBeDownloaded(vars: Variables): Resource {
  const { genesis } = vars.network;
  return skipWhen(
    goal(async (reader) => (await reader.sha256(genesisPath(vars))) === genesis.sha256),
    expectation('genesis file can be downloaded', {
      check: (reader) => downloads(reader, genesis.url),
      hint: 'check network.genesis.url in the inventory',
    }),
  );
}
