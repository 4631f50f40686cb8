import { packetFilter, rulesAreKept } from '../lib/engine/resource/network/packet-filter.ts';
import type { Resource } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { skipWhen } from '../lib/engine/resource/skip-when.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { accesses, listeningUnits } from '../lib/node/server/firewall.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Begins the names of its chains. */
export const rulesPrefix = 'RPC-PLAYBOOKS';

/**
 * Only the deployment's own hosts reach databases, provers and metrics; the inventory says who reaches JSON-RPC. The rules concern
 * ports of the deployment only, so SSH stays as it is.
 */
export default role<Variables>('firewall', async (context) => [
  // Elsewhere it comes with Docker.
  ...(listeningUnits(context).includes('docker.service') ? [] : [packages('iptables')]),
  await rulesInTurn(context),
  ...rulesAreKept({ product, networks: (await renderHost(context)).networks }),
]);

/** An RPC server that reads another replica now, or the server itself, needs this one until its turn: role replica-firewall ends it. */
async function rulesInTurn(context: Context<Variables>): Promise<Resource> {
  const rules = await publishedPorts(context);
  if (!context.host.groups.includes('replica')) return rules;
  const rpc = context.hosts.filter(({ groups }) => groups.includes('rpc'));
  return skipWhen(rules, await publishedPorts(context, rpc));
}

/**
 * @param clients see `accesses`
 */
export async function publishedPorts(
  context: Context<Variables>,
  clients?: Context<Variables>['hosts'],
): Promise<Resource> {
  return packetFilter({
    product,
    prefix: rulesPrefix,
    accesses: await accesses(context, clients),
    protects: listeningUnits(context),
    networks: (await renderHost(context)).networks,
    hint: 'make the name resolvable on this host, or set firewall.connects_from, with addresses, for the host of that name',
  });
}
