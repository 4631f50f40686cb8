import { packetFilter } from '../../engine/resource/network/packet-filter.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { renderHost } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';
import { accesses, listeningUnits } from './firewall.ts';
import { product } from './product.ts';

/** Begins the names of its chains. */
export const rulesPrefix = 'RPC-PLAYBOOKS';

/**
 * The rules for the published ports of a host.
 *
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
    own: context.host.connection.address,
    protects: listeningUnits(context),
    networks: (await renderHost(context)).networks.map(({ name }) => name),
    hint: 'make this host resolve the name, or give the host of that name its addresses: vars: { firewall: { connects_from: [ADDRESS] } }',
  });
}

/**
 * An RPC server that reads another replica now, or the server itself, needs this one until its
 * turn: role replica-firewall ends it.
 */
export async function publishedPortsInTurn(context: Context<Variables>): Promise<Resource> {
  const rules = await publishedPorts(context);
  if (!context.host.groups.includes('replica')) return rules;
  const rpc = context.hosts.filter(({ groups }) => groups.includes('rpc'));
  return skipWhen(rules, await publishedPorts(context, rpc));
}
