import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { isWithoutNode, monitoringPorts } from '../variables/monitoring.ts';
import { probesOf } from '../variables/probes.ts';
import type { Variables } from '../variables/variables.ts';

/** What Prometheus scrapes, by job. */
export const jobs = ['host', 'node', 'postgres', 'gateway', 'probe'] as const;
type Job = (typeof jobs)[number];

interface Target {
  readonly job: Job;
  readonly address: string;
  readonly instance: string;
  readonly group: string;
}

/** What blackbox_exporter asks; its module has the name of the instance. */
function probed(hosts: readonly InventoryHost<Variables>[]): Target[] {
  return probesOf(hosts).map(({ url, instance, group }) => ({ job: 'probe', address: url, instance, group }));
}

/**
 * The endpoints with metrics, in the order of the inventory. `instance` is the name of an
 * endpoint's host there. On one server for all components the node's are those of its
 * synchronizer.
 */
function exportersOf(hosts: readonly InventoryHost<Variables>[]): Target[] {
  return hosts.flatMap((host) => {
    const { connection, groups, vars, name: instance } = host;
    const group = groups.includes('database') ? 'database' : (groups[0] ?? '');
    const target = (job: Job, port: number) => {
      const address = connection.address.includes(':') ? `[${connection.address}]` : connection.address;
      return { job, address: `${address}:${port}`, instance, group };
    };
    const own = [
      target('host', monitoringPorts.host),
      ...(groups.includes('gateway') ? [target('gateway', vars.gateway.metrics)] : []),
    ];
    if (isWithoutNode(host) || groups.includes('replica')) return own;
    const isDatabase = groups.includes('database');
    const { sync_metrics, rpc_metrics } = vars.ports;
    // Without metrics the node publishes no port for them.
    const hasMetrics = fieldsOf(vars.node_config.Metrics).Enabled !== false;
    return [
      ...own,
      ...(hasMetrics ? [target('node', isDatabase ? sync_metrics : rpc_metrics)] : []),
      ...(isDatabase ? [target('postgres', monitoringPorts.postgres)] : []),
    ];
  });
}

function targetsOf(hosts: readonly InventoryHost<Variables>[]): Target[] {
  return [...exportersOf(hosts), ...probed(hosts)];
}

/**
 * The content of targets/JOB.json, for file_sd_configs: Prometheus reads it again when it changes.
 */
export function targetsFile(hosts: readonly InventoryHost<Variables>[], job: Job): string {
  const targets = targetsOf(hosts)
    .filter((target) => target.job === job)
    .map(({ address, instance, group }) => ({ targets: [address], labels: { instance, group } }));
  return `${JSON.stringify(targets, undefined, 2)}\n`;
}

const driftCheckMissing = {
  alert: 'DriftCheckMissing',
  expr: 'absent(rpc_node_drift_check_seconds)',
  for: '5m',
  labels: { severity: 'warning' },
  annotations: {
    summary: 'Prometheus knows of no scheduled check mode',
    description: 'The inventory has monitoring.drift_check, and no host with node_exporter has its result.',
    runbook: 'docs/alerts.md#drift-is-not-checked',
  },
};

/** A monitor that is down sends no alert. A service outside notices that this one stays away. */
const heartbeat = {
  alert: 'Heartbeat',
  expr: 'vector(1)',
  labels: { severity: 'heartbeat' },
  annotations: {
    summary: 'Prometheus and Alertmanager work',
    description: 'This fires always. Somebody has to look when it stays away.',
    runbook: 'docs/alerts.md#the-monitor-is-silent',
  },
};

/**
 * The rules that depend on the inventory, in JSON, which is YAML as well. One for each target
 * fires when Prometheus does not know it any more: `up` is 0 for a target that does not answer;
 * for one that was lost from the configuration there is no `up` at all. Another one has the
 * objective as a share, for templates/monitor/rules.yml.
 */
export function inventoryRules(
  hosts: readonly InventoryHost<Variables>[],
  { monitoring: { objective, receivers } }: Pick<Variables, 'monitoring'>,
): string {
  const unknown = targetsOf(hosts).map(({ job, instance, group }) => ({
    alert: 'TargetUnknown',
    expr: `absent(up{job="${job}",instance="${instance}"})`,
    for: '2m',
    labels: { severity: 'critical', group },
    annotations: {
      summary: `Prometheus has no target ${job} of ${instance}`,
      description: 'The host is in the inventory, and Prometheus does not scrape this exporter.',
      runbook: 'docs/alerts.md#an-exporter-is-gone',
    },
  }));
  // Without the last digits of a division.
  const share = { record: 'rpc_node_objective', expr: String(Number((objective / 100).toFixed(5))) };
  const rules = [
    ...unknown,
    ...(hosts.some(({ vars }) => vars.monitoring.drift_check) ? [driftCheckMissing] : []),
    ...(receivers.some(({ severity }) => severity === 'heartbeat') ? [heartbeat] : []),
    ...(probesOf(hosts).length > 0 ? [share] : []),
  ];
  return `${JSON.stringify({ groups: [{ name: 'targets', rules }] }, undefined, 2)}\n`;
}
