import { packetFilter } from '../lib/engine/resource/network/packet-filter.ts';
import { role } from '../lib/engine/resource/role.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { accesses } from '../lib/node/server/firewall.ts';
import { product } from '../lib/node/server/product.ts';
import { isMonitor, nodeExporterUnit } from '../lib/node/variables/monitoring.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Begins the names of its chains. */
export const rulesPrefix = 'RPC-PLAYBOOKS';

/**
 * Only the deployment's own hosts reach databases, provers and metrics; the inventory says who reaches JSON-RPC. The rules concern
 * published ports only, so SSH stays as it is.
 */
export default role<Variables>('firewall', async (context) => [
  // Elsewhere it comes with Docker.
  ...(isMonitor(context.host) ? [packages('iptables')] : []),
  packetFilter({
    ...(isMonitor(context.host) && { before: nodeExporterUnit }),
    product,
    prefix: rulesPrefix,
    accesses: await accesses(context),
    hint: 'make the name resolvable on this host, or set firewall.connects_from, with addresses, for the host of that name',
  }),
]);
