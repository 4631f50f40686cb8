import { shownAddress } from '../../engine/resource/network/http.ts';
import { drift, expectation, type Resource, refused, warning } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { jsonRpc, methodNotFound } from '../chain/json-rpc.ts';
import { askChainId, isOfChain } from '../chain/reachable.ts';
import { nodeContainers } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { goesOn } from './goes-on.ts';

/**
 * What the synchronizer asks for (v3.1.0, `jsonrpc/client/zkevm.go`), with parameters of a short
 * answer. Whoever serves some methods alone may serve the one without the other.
 */
const ofBatches = [['zkevm_batchNumber'], ['zkevm_getBatchByNumber', 'latest', false]] as const;

/**
 * A server that was deployed with this address, and one that takes the place of another by a
 * switch or a recovery, serves the blocks that it has while the sequencer is away, and its
 * components start. So that is a warning there. A new server, a new address, another chain and a
 * server without what the synchronizer asks for are refused.
 */
export function sequencerAnswers(context: Context<Variables>): Resource {
  const { groups } = context.host;
  const { trusted_sequencer_url: url, l2_chain_id } = context.vars.network;
  return expectation('trusted sequencer answers', {
    check: async (reader) => {
      // The synchronizer asks for batches, json-rpc does not.
      const asked = groups.includes('database') ? ofBatches : [];
      const [id, batches, hasData] = await Promise.all([
        askChainId(reader, url),
        Promise.all(asked.map(([method, ...params]) => jsonRpc(reader, url, method, params))),
        goesOn(reader, context, url, nodeContainers(groups)),
      ]);
      const away = (error: string) =>
        hasData ? warning(`${error}; this server goes on with the blocks that it has`) : drift(error);
      if (!id.ok) return away(id.error);
      const ofChain = isOfChain(url, id, l2_chain_id);
      // A host without curl and wget tries the connection only.
      if (ofChain.is !== 'ok' || id.value === undefined) return ofChain;
      const shown = shownAddress(url);
      const errors = batches.map((answer) => (answer.ok ? undefined : answer));
      const unserved = asked.flatMap(([method], at) => (errors[at]?.code === methodNotFound ? [method] : []));
      const failed = errors.find((error) => error !== undefined);
      if (unserved.length === 0) return failed ? away(failed.error.replaceAll(url, shown)) : ofChain;
      return refused(
        `${shown} does not serve ${unserved.join(' and ')}, and the synchronizer follows the trusted sequencer by its batches`,
        'name a node in network.trusted_sequencer_url that has zkevm among the enabled APIs of its RPC (--http.api)',
      );
    },
    hint: 'check network.trusted_sequencer_url and network.l2_chain_id in the inventory, and the firewall of this host',
  });
}
