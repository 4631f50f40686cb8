import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { get, until } from '../gateway/gateway.ts';
import { alertmanager } from '../monitoring-programs.mjs';
import { type Alertmanager, startAlertmanager } from './alertmanager.ts';
import { alertmanagerPort } from './prometheus.ts';

type Labels = Readonly<Record<string, string>>;

interface Shown {
  readonly labels: Labels;
  readonly status: { readonly inhibitedBy: readonly string[] };
}

describe.skipIf(!existsSync(alertmanager))('alerts that explain others', () => {
  let folder: string;
  let manager: Alertmanager;
  let round = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'inhibition-'));
    manager = await startAlertmanager(folder);
  });
  afterAll(async () => {
    await manager?.end();
    await rm(folder, { recursive: true, force: true });
  });

  /** Waits until exactly these of the alerts are not sent while another alert of their host fires. */
  async function silences(
    source: Labels,
    group: string,
    names: readonly string[],
    wanted: readonly string[],
  ) {
    round += 1;
    const common = { instance: `host-${round}`, group, severity: 'critical' };
    const labels = [source, ...names.map((alertname) => ({ alertname }))];
    const body = labels.map((each) => ({ labels: { ...common, ...each } }));
    const path = '/api/v2/alerts';
    const headers = { 'content-type': 'application/json' };
    expect((await get({ port: alertmanagerPort, path, body, headers })).status).toBe(200);
    const filter = encodeURIComponent(`instance="${common.instance}"`);
    const shown = async () =>
      JSON.parse(
        (await get({ port: alertmanagerPort, path: `${path}?filter=${filter}` })).text,
      ) as readonly Shown[];
    await until(async () => (await shown()).length === labels.length, 'Alertmanager has the alerts');
    // It shows an alert before it knows what the alert silences.
    await sleep(500);
    const silenced = async () =>
      (await shown())
        .filter(({ status }) => status.inhibitedBy.length > 0)
        .map((each) => each.labels.alertname ?? '')
        .sort();
    await expect.poll(silenced, { timeout: 20_000 }).toEqual(wanted);
  }

  const silent = [
    'JsonRpcSilent',
    'JsonRpcExecutesNothing',
    'StateDatabaseSilent',
    'DatabaseDown',
    'ChainStale',
    'ChainBehind',
  ];

  test.each<[container: string, group: string, silenced: readonly string[]]>([
    ['json-rpc', 'rpc', ['JsonRpcSilent', 'NodeMetricsGone']],
    // On one server for all components the metrics are those of the synchronizer.
    ['json-rpc', 'database', []],
    ['state-db', 'database', ['DatabaseDown', 'StateDatabaseSilent']],
    ['sync', 'database', ['ChainBehind', 'ChainStale', 'NodeMetricsGone']],
    ['prover', 'database', ['ChainBehind', 'ChainStale', 'JsonRpcExecutesNothing']],
    ['prover', 'rpc', ['JsonRpcExecutesNothing']],
    ['pool-db', 'rpc', []],
  ])('%s of a host in group %s that does not run explains %j', async (container, group, silenced) => {
    const source = { alertname: 'ContainerDown', container };
    await silences(source, group, [...silent, 'NodeMetricsGone'], silenced);
  });

  test('a host without node_exporter explains its other exporters, and not what clients get', async () => {
    const names = ['GatewayDown', 'NobodyServes', 'BudgetBurnsFast', 'DatabaseDown', 'DatabaseExporterGone'];
    const source = { alertname: 'HostGone' };
    await silences(source, 'gateway', names, ['DatabaseExporterGone']);
  });
});

test.skipIf(!existsSync(alertmanager))(
  'a heartbeat is sent again and again, and nothing else with it',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heartbeat-'));
    const sooner = (text: string) => text.replaceAll('"1m"', '"1s"').replaceAll(/"(50|10)s"/g, '"1s"');
    const manager = await startAlertmanager(folder, sooner);
    onTestFinished(async () => {
      await manager.end();
      await rm(folder, { recursive: true, force: true });
    });
    const labels = [
      { alertname: 'Heartbeat', severity: 'heartbeat' },
      { alertname: 'HostGone', severity: 'critical', instance: 'rpc-1' },
    ];
    const body = labels.map((each) => ({ labels: each }));
    const headers = { 'content-type': 'application/json' };
    await get({ port: alertmanagerPort, path: '/api/v2/alerts', body, headers });
    const beats = () => manager.got.filter((path) => path === '/outside').length;
    await until(async () => beats() > 3 && manager.got.includes('/'), 'both receivers get theirs', 20);
    expect(manager.got.filter((path) => path === '/')).toHaveLength(1);
  },
);
