import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { addressesOf } from './hosts.ts';
import type { Variables } from './variables.ts';

/** Ports of the programs that Debian's packages have there. */
export const monitoringPorts = {
  host: 9100,
  postgres: 9187,
  prometheus: 9090,
  alertmanager: 9093,
  /** Of Alertmanager, for others of its kind. */
  cluster: 9094,
  /** Of blackbox_exporter. */
  prober: 9115,
} as const;

type Host = InventoryHost<Variables>;

/** Whether a host is there for monitoring alone: it has no container of the deployment. */
export function isMonitor({ groups }: Pick<Host, 'groups'>): boolean {
  return groups.includes('monitor');
}

/**
 * Whether a host has no container of the deployment: it watches the others, keeps backups, or is
 * nothing but a gateway.
 */
export function isWithoutNode(host: Pick<Host, 'groups'>): boolean {
  return isMonitor(host) || !host.groups.some((group) => ['database', 'rpc', 'replica'].includes(group));
}

/**
 * Who reads metrics, beside the hosts themselves. None: nobody does, and no exporter is installed.
 */
export function readersOfMetrics({
  hosts,
  vars,
}: {
  readonly hosts: readonly Host[];
  readonly vars: Variables;
}) {
  return [...hosts.filter(isMonitor).flatMap(addressesOf), ...vars.monitoring.scrape_from];
}

/** The units of the exporters' packages. */
export const exporterUnits = {
  host: 'prometheus-node-exporter.service',
  postgres: 'prometheus-postgres-exporter.service',
} as const;
