import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Access } from '../../engine/resource/network/packet-filter.ts';
import type { GuardedPort } from '../../engine/resource/network/packet-filter-rules.ts';
import { composePorts } from '../render/compose-ports.ts';
import { type RenderContext, renderHost } from '../render/render.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * Who may reach which of a host's published ports: the deployment's own hosts reach all of them, others those that the inventory opens
 * to them. Ports that the Compose file publishes beyond those of the inventory are internal.
 *
 * @throws Problem from the templates, or where they publish a random port
 */
export async function accesses(context: RenderContext): Promise<Access[]> {
  const { host, vars, hosts } = context;
  const { files } = await renderHost(context);
  const compose = files.find(({ name }) => name === 'docker-compose.yml');
  const ports = composePorts(compose?.content.text ?? '');
  const own = hosts.filter(({ name }) => name !== host.name).flatMap(addressesOf);
  const { json_rpc, metrics, internal } = vars.firewall;
  const nameOf = purposes({ groups: host.groups, vars });
  const access = (name: Purpose, others: readonly string[]): Access => ({
    name,
    ports: ports.filter((port) => nameOf(port) === name),
    sources: [...own, ...others],
  });
  return [access('INTERNAL', internal), access('METRICS', metrics), access('JSON-RPC', json_rpc)];
}

type Purpose = 'INTERNAL' | 'METRICS' | 'JSON-RPC';

function purposes({ groups, vars: { ports } }: Pick<InventoryHost<Variables>, 'groups' | 'vars'>) {
  const known = new Map<string, Purpose>();
  if (groups.includes('database')) known.set(String(ports.sync_metrics), 'METRICS');
  if (groups.includes('rpc')) {
    known.set(String(ports.rpc_metrics), 'METRICS');
    known.set(String(ports.rpc_http), 'JSON-RPC');
    known.set(String(ports.rpc_websocket), 'JSON-RPC');
  }
  return ({ protocol, published }: GuardedPort): Purpose => (protocol === 'tcp' && known.get(published)) || 'INTERNAL';
}

/** The source addresses of a host's connections to the others. */
function addressesOf({ connection, vars }: InventoryHost<Variables>): readonly string[] {
  return vars.firewall.connects_from ?? [connection.address];
}
