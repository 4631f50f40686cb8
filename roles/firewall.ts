import { packetFilter } from '../lib/engine/resource/network/packet-filter.ts';
import { role } from '../lib/engine/resource/role.ts';
import { accesses } from '../lib/node/server/firewall.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Databases, provers and metrics are reached by the deployment's own hosts alone, JSON-RPC by whom the inventory names. It concerns
 * published ports only: SSH stays as it is.
 */
export default role<Variables>('firewall', async (context) => [
  packetFilter({
    product,
    prefix: 'RPC-PLAYBOOKS',
    accesses: await accesses(context),
    hint: 'make the name known on this host, or set firewall.connects_from of the host that it is of to addresses',
  }),
]);
