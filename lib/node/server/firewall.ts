import type { Access } from '../../engine/resource/network/packet-filter.ts';
import type { PublishedPort } from '../render/compose-ports.ts';
import { renderHost } from '../render/render.ts';
import type { RenderContext } from '../render/render-context.ts';
import { challengePort, isChallengedByHttp } from '../variables/acme.ts';
import { addressesOf, readersOf } from '../variables/hosts.ts';
import { choosesLayer1 } from '../variables/layer1.ts';
import {
  exporterUnits,
  isMonitor,
  isWithoutNode,
  monitoringPorts,
  readersOfMetrics,
} from '../variables/monitoring.ts';
import { probesOf } from '../variables/probes.ts';
import type { Variables } from '../variables/variables.ts';
import { layer1Unit } from './layer1-unit.ts';
import { unitSettings } from './unit-settings.ts';

const everybody = ['0.0.0.0/0', '::/0'];

/**
 * Who may reach which of a host's ports: every port on which the deployment listens is named here,
 * also one that is for everybody. The deployment's own hosts reach the published ports of
 * containers, others those that the inventory opens to them. Behind gateways, clients reach
 * JSON-RPC through these alone, unless the inventory says otherwise. Ports that the Compose file
 * publishes beyond those of the inventory are internal. Metrics and exporters are for the monitor,
 * too, which reaches nothing else.
 *
 * @param clients the hosts of the deployment that reach it. Default: all; of a replica, the RPC
 * servers that read it
 * @throws Problem from the templates, or where they publish a random port
 */
export async function accesses(context: RenderContext, clients = clientsOf(context)): Promise<Access[]> {
  const { host } = context;
  return [...(isWithoutNode(host) ? [] : await containers(context, clients)), ...ownAccesses(context)];
}

/** Those of the host's own programs: their packets pass INPUT, as those of containers do not. */
export function ownAccesses(context: Pick<RenderContext, 'host' | 'vars' | 'hosts'>): Access[] {
  const { host } = context;
  return [
    ...layer1(context),
    ...(host.groups.includes('gateway') ? gateway(context) : []),
    ...(isMonitor(host) ? programs(context) : []),
    ...exporters(readersOfMetrics(context)),
  ];
}

/** The units of a host that listen: none of them starts without the rules. */
export function listeningUnits({
  host,
  vars,
  hosts,
}: Pick<RenderContext, 'host' | 'vars' | 'hosts'>): string[] {
  const { groups } = host;
  const isMeasured = readersOfMetrics({ hosts, vars }).length > 0;
  const isGateway = groups.includes('gateway');
  const units: readonly (readonly [unit: string, isHere: boolean])[] = [
    ['docker.service', !isWithoutNode(host) || groups.includes('backup')],
    ['haproxy.service', isGateway],
    [layer1Unit, groups.includes('database') && choosesLayer1(vars)],
    ['keepalived.service', isGateway && vars.gateway.shared !== undefined],
    ['prometheus.service', isMonitor(host)],
    ['prometheus-alertmanager.service', isMonitor(host)],
    ['prometheus-blackbox-exporter.service', isMonitor(host) && probesOf(hosts).length > 0],
    [exporterUnits.host, isMeasured],
    [exporterUnits.postgres, isMeasured && groups.includes('database')],
  ];
  return units.flatMap(([unit, isHere]) => (isHere ? [unit] : []));
}

async function containers(context: RenderContext, clients: RenderContext['hosts']): Promise<Access[]> {
  const { vars, hosts } = context;
  const { ports } = await renderHost(context);
  const own = clients.flatMap(addressesOf);
  const { metrics, internal } = vars.firewall;
  const json_rpc =
    vars.firewall.json_rpc ?? (hosts.some(({ groups }) => groups.includes('gateway')) ? [] : everybody);
  const access = (name: Purpose, others: readonly string[]): Access => ({
    name,
    ports: ports.filter((port) => purposeOf(port, vars) === name),
    sources: [...own, ...others],
  });
  return [
    access('INTERNAL', internal),
    access('METRICS', [...metrics, ...readersOfMetrics(context)]),
    access('JSON-RPC', json_rpc),
  ];
}

function clientsOf({ host, hosts }: RenderContext): RenderContext['hosts'] {
  if (host.groups.includes('replica')) return readersOf(hosts, host);
  return hosts.filter((each) => each.name !== host.name && !isMonitor(each));
}

const tcp = (port: number) => ({ protocol: 'tcp', published: String(port) }) as const;

/**
 * Containers of the server itself come from its own bridges, which no rule concerns. A replica
 * that was the Database+Sync server serves the RPC servers until each has moved.
 */
function layer1({ host, vars, hosts }: Pick<RenderContext, 'host' | 'vars' | 'hosts'>): Access[] {
  const { groups } = host;
  if (!(groups.includes('database') || groups.includes('replica')) || !choosesLayer1(vars)) return [];
  const nodes = hosts.filter(({ name, groups }) => name !== host.name && groups.includes('rpc'));
  return [{ name: 'LAYER1', ports: [tcp(vars.ports.layer1)], sources: nodes.flatMap(addressesOf) }];
}

/** The protocol of keepalived, which has no ports (RFC 9568). */
const vrrp = 112;

/**
 * HAProxy refuses other addresses itself, too; keepalived believes whoever sends a higher
 * priority.
 */
function gateway({ host, vars, hosts }: Pick<RenderContext, 'host' | 'vars' | 'hosts'>): Access[] {
  const { http, websocket, metrics, peers, shared, tls } = vars.gateway;
  const others = hosts.filter(({ name, groups }) => name !== host.name && groups.includes('gateway'));
  const { json_rpc } = vars.firewall;
  // The monitor asks as a client does.
  const clients = json_rpc ? [...json_rpc, ...hosts.filter(isMonitor).flatMap(addressesOf)] : everybody;
  const watchers = [...hosts.flatMap(addressesOf), ...vars.firewall.metrics];
  const speakers = others.map(({ connection }) => connection.address);
  return [
    { name: 'CLIENTS', ports: [tcp(http), tcp(websocket)], sources: clients },
    ...(isChallengedByHttp(tls)
      ? [{ name: 'CHALLENGES', ports: [tcp(challengePort)], sources: everybody }]
      : []),
    { name: 'FLEET', ports: [tcp(metrics)], sources: watchers },
    { name: 'PEERS', ports: [tcp(peers)], sources: others.flatMap(addressesOf) },
    ...(shared ? [{ name: 'VRRP', ports: [], protocols: [vrrp], sources: speakers }] : []),
  ];
}

/** Where nobody reads metrics any more, our exporters go on, and their ports are for nobody. */
function exporters(sources: readonly string[]): Access[] {
  const ports = [tcp(monitoringPorts.host), tcp(monitoringPorts.postgres)];
  const isLeft = sources.length === 0;
  return [
    { name: 'EXPORTERS', ports, sources, ...(isLeft && { onlyWith: unitSettings(exporterUnits.host) }) },
  ];
}

/**
 * Alertmanager and blackbox_exporter listen on ports for others between their installation and
 * their first start with our settings.
 */
function programs({ vars: { monitoring }, hosts }: Pick<RenderContext, 'vars' | 'hosts'>): Access[] {
  const { prometheus, alertmanager, cluster, prober } = monitoringPorts;
  return [
    { name: 'MONITOR', ports: [tcp(prometheus), tcp(alertmanager)], sources: monitoring.clients },
    { name: 'CLUSTER', ports: [tcp(cluster), { ...tcp(cluster), protocol: 'udp' }], sources: [] },
    ...(probesOf(hosts).length > 0 ? [{ name: 'PROBER', ports: [tcp(prober)], sources: [] }] : []),
  ];
}

type Purpose = 'INTERNAL' | 'METRICS' | 'JSON-RPC';

/**
 * By the service, too: another service may publish a port that an RPC server uses for JSON-RPC.
 */
function purposeOf({ service, protocol, published }: PublishedPort, { ports }: Variables): Purpose {
  const isOneOf = (...numbers: readonly number[]) =>
    protocol === 'tcp' && numbers.map(String).includes(published);
  if (service === 'sync' && isOneOf(ports.sync_metrics)) return 'METRICS';
  if (service !== 'json-rpc') return 'INTERNAL';
  if (isOneOf(ports.rpc_metrics)) return 'METRICS';
  return isOneOf(ports.rpc_http, ports.rpc_websocket) ? 'JSON-RPC' : 'INTERNAL';
}
