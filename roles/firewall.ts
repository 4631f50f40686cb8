import { rulesAreKept } from '../lib/engine/resource/network/packet-filter.ts';
import { role } from '../lib/engine/resource/role.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { listeningUnits } from '../lib/node/server/firewall.ts';
import { ownRulesLetIn } from '../lib/node/server/own-rules.ts';
import { publishedPortsInTurn } from '../lib/node/server/packet-rules.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Only the deployment's own hosts reach databases, provers and metrics; the inventory says who
 * reaches JSON-RPC. The rules concern ports of the deployment only, so SSH stays as it is.
 */
export default role<Variables>('firewall', async (context) => [
  // Elsewhere it comes with Docker.
  ...(listeningUnits(context).includes('docker.service') ? [] : [packages('iptables')]),
  await publishedPortsInTurn(context),
  ...rulesAreKept({ product, networks: (await renderHost(context)).networks.map(({ name }) => name) }),
  ...ownRulesLetIn(context),
]);
