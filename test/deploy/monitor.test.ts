import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { labUp } from '../../lab/up.mjs';
import { controllerOn, owner } from './controller.ts';
import { onHost } from './lab-host.ts';
import { firing, monitor, monitoredLab, query, until, untilNone } from './monitored-lab.ts';
import { runPlaybook } from './playbook.ts';

const templates = join(import.meta.dirname, '../../templates/monitor');
const drifted = '/var/lib/prometheus/node-exporter/rpc_node_drift_scheduled.prom';
const units = 'prometheus prometheus-alertmanager prometheus-node-exporter prometheus-postgres-exporter';

beforeAll(() => labUp({ log: console.error }));

// The lab without a monitor, on which rpc-2 becomes one for this file, and then an RPC server
// again.
afterAll(async () => {
  for (const host of ['db-1', 'rpc-1', monitor]) {
    await onHost(
      host,
      `systemctl disable --quiet --now rpc-node-metrics.timer; for unit in ${units}; do systemctl disable --quiet --now $unit 2>/dev/null || true; done`,
    );
  }
  await onHost(
    monitor,
    `systemctl disable --quiet --now rpc-node-drift-scheduled.timer 2>/dev/null || :; rm -rf ${drifted} /srv/rpc-playbooks`,
  );
  await runPlaybook('deploy', '--inventory', 'lab', '--yes');
});

/** Names of metrics in an expression of Prometheus. */
const metricsIn = (expression: string) =>
  expression.match(/\b(rpc_node|node|pg|jsonrpc|synchronizer|prometheus|alertmanager)_\w+\b|\bup\b/g) ?? [];

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}
/** This lab has no gateway: test/alerts/gateway.test.ts has the panels of that dashboard. */
const dashboards = readdirSync(join(templates, 'dashboards'))
  .filter((name) => name !== 'gateway.json')
  .map(
    (name) =>
      [name, JSON.parse(readFileSync(join(templates, 'dashboards', name), 'utf8')) as Dashboard] as const,
  );
const panels = dashboards.flatMap(([name, { panels: all }]) =>
  all.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => [name, title, expr.replaceAll('$instance', '.*')] as const),
  ),
);
const { groups } = parse(readFileSync(join(templates, 'rules.yml'), 'utf8')) as {
  groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);

describe('Metrics and alerts', () => {
  test('a monitor watches a deployment, and every target answers', async () => {
    const { exitCode, output } = await runPlaybook('deploy', '--inventory', await monitoredLab(), '--yes');
    expect(exitCode, output).toBe(0);
    await until('every target answers', 90, async () => {
      const up = await query('up');
      return up.length === 8 && up.every(({ value }) => value[1] === '1');
    });
  });

  test('a second run changes nothing', async () => {
    const { exitCode, output } = await runPlaybook('deploy', '--inventory', await monitoredLab(), '--check');
    expect(exitCode, output).toBe(0);
  });

  test('the schedule of a controller checks: the result is measured, and in the history', async () => {
    const inventory = await monitoredLab({ drift_check: { every_minutes: 60, user: owner } });
    const deploy = await runPlaybook('deploy', '--inventory', inventory, '--yes');
    expect(deploy.exitCode, deploy.output).toBe(0);
    const playbook = await controllerOn(monitor, inventory);
    const installed = await playbook('root', 'schedule', '--yes');
    expect(installed).toContain('schedule rpc-node-drift-scheduled');
    const check = () => onHost(monitor, `systemctl start rpc-node-drift-scheduled.service; cat ${drifted}`);
    const drift = async () => (await check()).match(/(?<=^rpc_node_drift_resources\{.*host=").*/gm);
    expect(await drift()).toEqual(['db-1"} 0', 'rpc-1"} 0', 'rpc-2"} 0']);
    await onHost('rpc-1', 'chmod 0644 /opt/rpc-node/prover.config.json');
    expect(await drift()).toEqual(['db-1"} 0', 'rpc-1"} 1', 'rpc-2"} 0']);
    await onHost('rpc-1', 'chmod 0600 /opt/rpc-node/prover.config.json');
    expect(await drift()).toEqual(['db-1"} 0', 'rpc-1"} 0', 'rpc-2"} 0']);
    const history = await playbook(owner, 'history');
    expect(history).toMatch(
      /check mode, from here\n.*rpc-1 no drift.*\n.*rpc-1 1 pending.*\n.*rpc-1 no drift/,
    );
    // A check that cannot run is no result.
    await onHost(monitor, 'mv /srv/rpc-playbooks/.lab/id_ed25519 /srv/key');
    const failed = await check().catch(() => onHost(monitor, `cat ${drifted}`));
    await onHost(monitor, 'mv /srv/key /srv/rpc-playbooks/.lab/id_ed25519');
    expect(failed).toContain('rpc_node_drift_check_ok{inventory="scheduled"} 0');
    expect(failed).not.toMatch(/^rpc_node_drift_resources\{.*\} 0/m);
    expect(await check()).toContain('rpc_node_drift_check_ok{inventory="scheduled"} 1');
  });

  test('every metric of a rule or a panel exists', async () => {
    const wanted = new Set(
      [...rules.map(({ expr }) => expr), ...panels.map(([, , expr]) => expr)].flatMap(metricsIn),
    );
    // This lab has no gateway, no backup, no replica and one provider of layer 1: test/gateway,
    // test/deploy/backup.test.ts, replica.test.ts and test/gateway/layer1 have them.
    for (const name of wanted)
      if (/^rpc_node_(gateway|objective|backup|replica|layer1_provider)/.test(name)) wanted.delete(name);
    expect(wanted.size).toBeGreaterThan(40);
    await untilNone('every metric exists', 60, async () => {
      const there = new Set(
        (await query('group by (__name__) ({__name__!=""})')).map(({ metric }) => metric.__name__),
      );
      return [...wanted].filter((name) => !there.has(name));
    });
  });

  test('every panel of every dashboard shows something', async () => {
    await untilNone('every panel shows something', 90, async () => {
      const shown = await Promise.all(
        panels.map(async ([name, title, expr]) =>
          (await query(expr)).length === 0 ? `${name} ${title}` : '',
        ),
      );
      return shown.filter(Boolean);
    });
  });

  test('the exporters answer the monitor, and nobody else', async () => {
    const ask = (from: string, port: number) =>
      onHost(from, `curl -s -m 3 -o /dev/null -w '%{http_code}' http://172.30.77.11:${port}/metrics || true`);
    expect([await ask(monitor, 9100), await ask(monitor, 9187), await ask(monitor, 9091)]).toEqual([
      '200',
      '200',
      '200',
    ]);
    expect([await ask('rpc-1', 9100), await ask('rpc-1', 9187)]).toEqual(['000', '000']);
    // A monitor reaches no database.
    expect(
      await onHost(
        monitor,
        'timeout 3 bash -c "</dev/tcp/172.30.77.11/5432" 2>/dev/null && echo open || echo closed',
      ),
    ).toBe('closed');
  });

  test("the exporter's role reads statistics, and no table of the node", async () => {
    const sql = (query: string) =>
      onHost(
        'db-1',
        `PGPASSWORD=$(cat /etc/rpc-node/statistics-password) psql -XAtq -h 127.0.0.1 -U rpc_node_statistics -d state_db -c '${query}' 2>&1 || true`,
      );
    expect(Number(await sql('select count(*) from pg_stat_activity'))).toBeGreaterThan(0);
    expect(await sql('select count(*) from state.l2block')).toContain('permission denied');
    expect(await sql('create table public.x (y int)')).toContain('permission denied');
  });

  test('a healthy deployment has no alert; faults fire, and clear', async () => {
    await untilNone('no alert fires', 150, firing);
    await onHost('rpc-1', 'docker stop json-rpc');
    await onHost('db-1', 'systemctl stop prometheus-postgres-exporter');
    const expected = [
      'ContainerDown rpc-1',
      'DatabaseExporterGone db-1',
      'JsonRpcSilent rpc-1',
      'NodeMetricsGone rpc-1',
    ];
    await until('the alerts fire', 150, async () => {
      const found = await firing();
      return expected.every((alert) => found.includes(alert));
    });
    expect(await firing()).toEqual(expected);
    await onHost('rpc-1', 'docker start json-rpc');
    await onHost('db-1', 'systemctl start prometheus-postgres-exporter');
    await untilNone('the alerts clear', 120, firing);
  });

  // Last: deliveries that failed are an alert for five minutes.
  test('the receiver got a test alert, and one that does not answer is reported', async () => {
    const alerts = JSON.parse(await onHost('db-1', 'curl -sS http://172.30.77.10:8081/alerts')) as {
      body: { receiver?: string; alerts?: { labels: { alertname: string } }[] };
    }[];
    const got = alerts
      .filter(({ body }) => body.receiver === 'sink')
      .flatMap(({ body }) => body.alerts ?? []);
    expect(got.map(({ labels }) => labels.alertname)).toContain('TestAlert');
    const silent = await monitoredLab({ webhook: 'http://172.30.77.10:9/nobody' });
    const { exitCode, output } = await runPlaybook(
      'deploy',
      '--inventory',
      silent,
      '--yes',
      '--limit',
      monitor,
      '--role',
      'monitor',
    );
    expect(exitCode, output).toBe(1);
    expect(output).toContain('receiver sink took no test alert');
    expect(output).toContain('connection refused');
    const again = await runPlaybook(
      'deploy',
      '--inventory',
      await monitoredLab(),
      '--yes',
      '--limit',
      monitor,
      '--role',
      'monitor',
    );
    expect(again.exitCode, again.output).toBe(0);
  });
});
