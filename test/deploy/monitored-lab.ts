import { setTimeout as sleep } from 'node:timers/promises';
import { onHost } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';

/** The host that is the monitor: an RPC server of the lab otherwise. */
export const monitor = 'rpc-2';

/** A receiver of alerts: the lab's own sink, which keeps what it gets. */
const sink = 'http://172.30.77.10:8081/alert';

/** A certificate that every host has, for years to come: the first in the file. */
const debianCertificate = '/etc/ssl/certs/ca-certificates.crt';

interface Monitoring {
  /** Of its one receiver. */
  readonly webhook?: string;
  /** Those that are watched. */
  readonly certificates?: readonly string[];
  readonly drift_check?: { readonly every_minutes: number; readonly user: string };
}

/** The lab's inventory with rpc-2 as the monitor. */
export function monitoredLab({
  webhook = sink,
  certificates = [debianCertificate],
  ...more
}: Monitoring = {}): Promise<string> {
  return labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'groups.monitor': { [monitor]: { address: '172.30.77.13', user: 'operator' } },
    'vars.monitoring': {
      certificates,
      ...more,
      receivers: [{ name: 'sink', configs: { webhook_configs: [{ url: webhook }] } }],
    },
  });
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/**
 * Asks the lab's Prometheus.
 *
 * @throws Error for a query that it refuses
 */
export async function query(expression: string): Promise<readonly Sample[]> {
  const answer = await onHost(
    monitor,
    `curl -sS -m 20 http://127.0.0.1:9090/api/v1/query --data-urlencode query@- <<'QUERY'\n${expression}\nQUERY`,
  );
  const { status, error, data } = JSON.parse(answer) as {
    status: string;
    error?: string;
    data: { result: Sample[] };
  };
  if (status !== 'success') throw new Error(`${expression}: ${error}`);
  return data.result;
}

/**
 * The alerts that fire, each as `NAME HOST`, without those of a busy machine: all hosts of the lab
 * share this one, and tests keep it busy.
 */
export async function firing(): Promise<string[]> {
  const alerts = await query('ALERTS{alertstate="firing",alertname!~"CpuBusy|MemoryShort"}');
  return [...new Set(alerts.map(({ metric }) => `${metric.alertname} ${metric.instance}`))].sort();
}

/**
 * Waits until a condition holds.
 *
 * @returns after how many seconds
 */
export async function until(what: string, limit: number, holds: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  for (;;) {
    if (await holds()) return (performance.now() - started) / 1000;
    if (performance.now() - started > limit * 1000) throw new Error(`not within ${limit} s: ${what}`);
    await sleep(2000);
  }
}

/**
 * Waits until nothing is left.
 *
 * @throws Error that names what is left
 */
export async function untilNone(
  what: string,
  limit: number,
  left: () => Promise<readonly string[]>,
): Promise<void> {
  let last: readonly string[] = [];
  const isEmpty = async () => {
    last = await left();
    return last.length === 0;
  };
  await until(what, limit, isEmpty).catch(({ message }) =>
    Promise.reject(new Error(`${message}: ${last.join(', ')}`)),
  );
}
