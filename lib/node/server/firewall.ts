import type { Access } from '../../engine/resource/network/packet-filter.ts';
import type { PublishedPort } from '../render/compose-ports.ts';
import { type RenderContext, renderHost } from '../render/render.ts';
import { addressesOf, readersOf } from '../variables/hosts.ts';
import { isMonitor, isWithoutNode, monitoringPorts, readersOfMetrics } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';

const everybody = ['0.0.0.0/0', '::/0'];

/**
 * Who may reach which of a host's published ports: the deployment's own hosts reach all of them, others those that the inventory opens
 * to them. Behind gateways, clients reach JSON-RPC through these alone, unless the inventory says otherwise. Ports that the Compose file
 * publishes beyond those of the inventory are internal. Metrics and exporters are for the monitor, too, which reaches nothing else.
 *
 * @param clients the hosts of the deployment that reach it. Default: all; of a replica, the RPC servers that read it
 * @throws Problem from the templates, or where they publish a random port
 */
export async function accesses(context: RenderContext, clients = clientsOf(context)): Promise<Access[]> {
  const { host, vars, hosts } = context;
  const readers = readersOfMetrics(context);
  if (isWithoutNode(host)) return [exporters(readers), ...(isMonitor(host) ? [programs(vars)] : [])];
  const { ports } = await renderHost(context);
  const own = clients.flatMap(addressesOf);
  const { metrics, internal } = vars.firewall;
  const json_rpc = vars.firewall.json_rpc ?? (hosts.some(({ groups }) => groups.includes('gateway')) ? [] : everybody);
  const access = (name: Purpose, others: readonly string[]): Access => ({
    name,
    ports: ports.filter((port) => purposeOf(port, vars) === name),
    sources: [...own, ...others],
  });
  return [
    access('INTERNAL', internal),
    access('METRICS', [...metrics, ...readers]),
    access('JSON-RPC', json_rpc),
    ...(readers.length > 0 ? [exporters(readers)] : []),
  ];
}

function clientsOf({ host, hosts }: RenderContext): RenderContext['hosts'] {
  if (host.groups.includes('replica')) return readersOf(hosts, host);
  return hosts.filter((each) => each.name !== host.name && !isMonitor(each));
}

const tcp = (port: number) => ({ protocol: 'tcp', published: String(port), target: String(port) }) as const;

/** These ports are the host's own, not a container's. */
function exporters(sources: readonly string[]): Access {
  return { name: 'EXPORTERS', ports: [tcp(monitoringPorts.host), tcp(monitoringPorts.postgres)], sources };
}

function programs({ monitoring }: Variables): Access {
  const ports = [tcp(monitoringPorts.prometheus), tcp(monitoringPorts.alertmanager)];
  return { name: 'MONITOR', ports, sources: monitoring.clients };
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
