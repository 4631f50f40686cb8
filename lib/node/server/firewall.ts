import type { Access } from '../../engine/resource/network/packet-filter.ts';
import type { PublishedPort } from '../render/compose-ports.ts';
import { type RenderContext, renderHost } from '../render/render.ts';
import { addressesOf } from '../variables/addresses.ts';
import type { Variables } from '../variables/variables.ts';

const everybody = ['0.0.0.0/0', '::/0'];

/**
 * Who may reach which of a host's published ports: the deployment's own hosts reach all of them, others those that the inventory opens
 * to them. Behind gateways, clients reach JSON-RPC through these alone, unless the inventory says otherwise. Ports that the Compose file publishes beyond those of the inventory are internal.
 *
 * @throws Problem from the templates, or where they publish a random port
 */
export async function accesses(context: RenderContext): Promise<Access[]> {
  const { host, vars, hosts } = context;
  const { ports } = await renderHost(context);
  const own = hosts.filter(({ name }) => name !== host.name).flatMap(addressesOf);
  const { metrics, internal } = vars.firewall;
  const json_rpc = vars.firewall.json_rpc ?? (hosts.some(({ groups }) => groups.includes('gateway')) ? [] : everybody);
  const access = (name: Purpose, others: readonly string[]): Access => ({
    name,
    ports: ports.filter((port) => purposeOf(port, vars) === name),
    sources: [...own, ...others],
  });
  return [access('INTERNAL', internal), access('METRICS', metrics), access('JSON-RPC', json_rpc)];
}

type Purpose = 'INTERNAL' | 'METRICS' | 'JSON-RPC';

/** By the service, too: another service may publish a port that an RPC server uses for JSON-RPC. */
function purposeOf({ service, protocol, published }: PublishedPort, { ports }: Variables): Purpose {
  const isOneOf = (...numbers: readonly number[]) => protocol === 'tcp' && numbers.map(String).includes(published);
  if (service === 'sync' && isOneOf(ports.sync_metrics)) return 'METRICS';
  if (service !== 'json-rpc') return 'INTERNAL';
  if (isOneOf(ports.rpc_metrics)) return 'METRICS';
  return isOneOf(ports.rpc_http, ports.rpc_websocket) ? 'JSON-RPC' : 'INTERNAL';
}
