import { role } from '../lib/engine/resource/role.ts';
import { blockGrows, executesCalls, givesBlockNumber } from '../lib/node/chain/installation-check.ts';
import { answersWebSocket, servesMetrics, servesNamespaces } from '../lib/node/chain/listeners.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { isOnTrustedChain } from '../lib/node/status/same-chain.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The installation check of spec part 1.7, on the RPC host itself, and the listeners that its
 * configuration enables.
 */
export default role<Variables>('verify', async (context) => {
  const { network, ports, verify } = context.vars;
  const { serves } = await renderHost(context);
  const url = `http://localhost:${ports.rpc_http}`;
  return [
    givesBlockNumber(url, verify),
    servesNamespaces(url, serves.namespaces, verify),
    executesCalls(url, verify),
    ...(serves.webSockets ? [answersWebSocket(ports.rpc_websocket, verify)] : []),
    ...(serves.metrics ? [servesMetrics('json-rpc', ports.rpc_metrics, verify)] : []),
    blockGrows(url, network.trusted_sequencer_url, verify),
    isOnTrustedChain('json-rpc', url, context.vars),
  ];
});
