import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { receivers, startAlertmanager } from './alertmanager.ts';
import type { Fault } from './fault.ts';
import { startHost } from './host.ts';
import { faultsOf } from './host-faults.ts';
import { monitorFaults } from './monitor-faults.ts';
import { onlyFire, type Prometheus, startPrometheus } from './prometheus.ts';

/** Seconds. A loaded machine is slow, and an alert waits for its rule. */
const patience = 180;
/** Ten minutes are ten seconds here: a busy machine measures too few starts in them. */
const startsAreSeen = { '[10000ms]) >= 3': '[24s]) >= 3' };
const address = '127.0.9.120';
/** It has no other exporter than node_exporter. */
const name = 'mon-1';

/** A host with a monitor, which evaluates its rules and those of the monitor itself. */
export interface Watch {
  readonly faults: readonly Fault[];
  readonly monitor: Prometheus;
  /**
   * Waits until exactly these alerts fire.
   *
   * @param also may fire as well
   */
  only(wanted: readonly string[], also?: readonly string[]): Promise<number>;
  /** Waits until each of these has fired since the call. */
  each(wanted: readonly string[]): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts both, within a test.
 *
 * @param folder for all files
 */
export async function startWatchedHost(folder: string): Promise<Watch> {
  const watched = await targets();
  const alertmanager = await startAlertmanager(folder);
  const host = await startHost(folder, address);
  const monitor = await startPrometheus({
    ...watched,
    groups: ['host', 'containers', 'monitoring'],
    sooner: { '> 90': '> 10', '> 180': '> 10', '72 * 3600': '4320', ...startsAreSeen },
    faster: 60,
  });
  const measured = 'rpc_node_container_running == 1 and on (instance) rpc_node_clock_synchronised == 1';
  const isMeasured = async () => (await monitor.query(measured)).length === 3;
  await until(isMeasured, 'the host is measured', patience);
  return {
    faults: [...faultsOf(host, name), ...monitorFaults(monitor, alertmanager, name)],
    monitor,
    only: (wanted, also) => onlyFire(monitor, wanted, patience, also),
    each(wanted) {
      let missing = wanted;
      const haveFired = async () => {
        const firing = await monitor.firing();
        missing = missing.filter((alert) => !firing.includes(alert));
        return missing.length === 0;
      };
      return until(haveFired, () => `not fired: ${missing.join(', ')}`, patience);
    },
    async stop() {
      await monitor.stop();
      await host.stop();
      await alertmanager.end();
    },
  };
}

async function targets() {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
    [['groups', 'monitor'], { [name]: { address } }],
    // The heartbeat always fires.
    [['vars', 'monitoring'], { receivers: receivers.filter(({ severity }) => severity !== 'heartbeat') }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const watched = hosts.filter((host) => host.name === name);
  const [host] = watched;
  if (!host) throw new Error('no host');
  return { vars: host.vars, hosts: watched };
}
