import { expect, test } from 'vitest';
import exporters from '../../../roles/exporters.ts';
import monitor from '../../../roles/monitor.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { gatewayFiles } from '../gateway/render.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { accesses } from '../server/firewall.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import { alertmanagerFile, receiversAnswer } from './alertmanager.ts';
import { proberFile } from './prober-file.ts';
import { statisticsRoleIsThere } from './statistics-role.ts';
import { inventoryRules, targetsFile } from './targets.ts';

const ownMonitor = [['groups', 'monitor'], { 'mon-1': { address: '192.0.2.9' } }] as const;
const webhook = { name: 'ops', configs: { webhook_configs: [{ url: 'http://192.0.2.1/hook' }] } };
const names = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name);

test('without a reader of metrics nothing is installed, and no port is opened or closed', async () => {
  for (const group of ['database', 'rpc'] as const) {
    const context = await contextOf({ group });
    expect(await exporters.resources(context)).toEqual([]);
    const [, , , exporter, ...others] = await accesses(context);
    expect(others).toEqual([]);
    // Somebody else's exporter may have the port. Ours may be left over from a time with a reader.
    expect(exporter).toMatchObject({
      name: 'EXPORTERS',
      sources: [],
      onlyWith: '/etc/systemd/system/prometheus-node-exporter.service.d/rpc-node.conf',
    });
  }
});

test('the exporters are open to the monitor and to scrape_from alone, and the monitor reaches nothing else', async () => {
  const changes = [ownMonitor, [['vars', 'monitoring'], { scrape_from: ['192.0.2.40'] }]] as const;
  const open = Object.fromEntries(
    (await accesses(await contextOf({ changes }))).map((each) => [each.name, each]),
  );
  expect(open.EXPORTERS?.sources).toEqual(['192.0.2.9', '192.0.2.40']);
  expect(open.EXPORTERS?.ports.map(({ published }) => published)).toEqual(['9100', '9187']);
  expect(open.METRICS?.sources).toEqual(['172.30.77.12', '172.30.77.13', '192.0.2.9', '192.0.2.40']);
  expect(open.INTERNAL?.sources).not.toContain('192.0.2.9');
});

test('Prometheus and Alertmanager are open to their clients alone', async () => {
  const changes = [ownMonitor, [['vars', 'monitoring'], { clients: ['192.0.2.30'] }]] as const;
  const open = await accesses(await contextOf({ changes, group: 'monitor' }));
  expect(names(open)).toEqual(['MONITOR', 'CLUSTER', 'EXPORTERS']);
  expect(open[0]?.ports.map(({ published }) => published)).toEqual(['9090', '9093']);
  expect(open[0]?.sources).toEqual(['192.0.2.30']);
  expect(open[1]).toMatchObject({ sources: [], ports: [{ protocol: 'tcp' }, { protocol: 'udp' }] });
});

test('the database has its exporter, and an RPC server or a monitor has not', async () => {
  const postgres = 'prometheus-postgres-exporter.service is enabled and running';
  const with9100 = 'prometheus-node-exporter.service is enabled and running';
  for (const group of ['database', 'rpc', 'monitor'] as const) {
    const found = names(await exporters.resources(await contextOf({ changes: [ownMonitor], group })));
    expect(found).toContain(with9100);
    expect(found.includes(postgres)).toBe(group === 'database');
    expect(new Set(found).size).toBe(found.length);
  }
});

test('node_exporter measures what the alerts on disks and connections need', async () => {
  const context = await contextOf({ changes: [ownMonitor], group: 'database' });
  const options = (await exporters.resources(context)).find(({ name }) =>
    name.endsWith('prometheus-node-exporter.service.d/rpc-node.conf'),
  );
  const verdict = await options?.check(fakeHost([], { stat: async () => undefined }));
  expect(JSON.stringify(verdict)).toMatch(/--collector\.conntrack .*--collector\.filesystem /);
  // A disk of settings, as clouds attach it, is always full.
  expect(JSON.stringify(verdict)).toContain('|iso9660|');
});

test('no two tasks of a monitor have the same name', async () => {
  const changes = [ownMonitor, [['vars', 'monitoring'], { receivers: [webhook] }]] as const;
  const found = names(await monitor.resources(await contextOf({ changes, group: 'monitor' })));
  expect(new Set(found).size).toBe(found.length);
  expect(found).toContain('every receiver of alerts takes a test alert');
});

test('every host is a target, by its name in the inventory', async () => {
  const { hosts, vars } = await contextOf({
    changes: [ownMonitor, [['groups', 'rpc', 'rpc-2', 'address'], 'fd00::3']],
  });
  const targets = (job: 'host' | 'node' | 'postgres') =>
    (JSON.parse(targetsFile(hosts, job)) as { targets: string[]; labels: { instance: string } }[]).map(
      ({ targets: [address], labels }) => `${labels.instance} ${address}`,
    );
  expect(targets('host')).toEqual([
    'db-1 172.30.77.11:9100',
    'rpc-1 172.30.77.12:9100',
    'rpc-2 [fd00::3]:9100',
    'mon-1 192.0.2.9:9100',
  ]);
  expect(targets('node')).toEqual([
    'db-1 172.30.77.11:9091',
    'rpc-1 172.30.77.12:9092',
    'rpc-2 [fd00::3]:9092',
  ]);
  expect(targets('postgres')).toEqual(['db-1 172.30.77.11:9187']);
  const { groups } = JSON.parse(inventoryRules(hosts, vars)) as { groups: { rules: { expr: string }[] }[] };
  expect(groups[0]?.rules).toHaveLength(8);
  expect(groups[0]?.rules[0]?.expr).toBe('absent(up{job="host",instance="db-1"})');
});

test('a node without metrics, whose port is closed, is no target that is down for ever', async () => {
  const off = [['groups', 'rpc', 'rpc-1', 'vars'], { node_config: { Metrics: { Enabled: false } } }] as const;
  const { hosts, vars } = await contextOf({ changes: [ownMonitor, off] });
  expect(targetsFile(hosts, 'node')).not.toContain('rpc-1');
  expect(targetsFile(hosts, 'node')).toContain('rpc-2');
  expect(inventoryRules(hosts, vars)).not.toContain('absent(up{job=\\"node\\",instance=\\"rpc-1\\"})');
});

test('of a gateway alone the host is a target, and of one that is an RPC server, too, the node', async () => {
  const gateways = [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' }, 'rpc-1': null }] as const;
  const changes = [ownMonitor, gateways, [['vars', 'gateway'], { http: 80, websocket: 81 }]] as const;
  const { hosts, vars } = await contextOf({ changes });
  const targets = (job: 'host' | 'node' | 'gateway') =>
    targetsFile(hosts, job)
      .match(/"instance": "[^"]+/g)
      ?.join() ?? '';
  expect(targets('host')).toContain('gw-1');
  expect(targets('node')).not.toContain('gw-1');
  expect(targets('node')).toContain('rpc-1');
  expect(targets('gateway')).toBe('"instance": "rpc-1,"instance": "gw-1');
  expect(targetsFile(hosts, 'gateway')).toContain('"10.0.0.1:9101"');
  expect(inventoryRules(hosts, vars)).toContain('absent(up{job=\\"gateway\\",instance=\\"gw-1\\"})');
});

test('clients reach the gateways by the shared address, or by their own, and so does the monitor', async () => {
  const gateways = [
    ['groups', 'gateway'],
    { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: 'fd00::2' } },
  ] as const;
  const of = async (gateway: object) => {
    const monitoring = { objective: 99.95 };
    const changes = [
      ownMonitor,
      gateways,
      [['vars', 'gateway'], gateway],
      [['vars', 'monitoring'], monitoring],
    ] as const;
    const { hosts, vars } = await contextOf({ changes, group: 'monitor' });
    const { modules } = JSON.parse(proberFile(hosts)) as { modules: Record<string, { http: object }> };
    expect(inventoryRules(hosts, vars)).toContain('"expr": "0.9995"');
    return { targets: JSON.parse(targetsFile(hosts, 'probe')), modules };
  };
  const own = await of({});
  expect(own.targets).toEqual([
    { targets: ['http://10.0.0.1:8123'], labels: { instance: 'gw-1', group: 'gateway' } },
    { targets: ['http://[fd00::2]:8123'], labels: { instance: 'gw-2', group: 'gateway' } },
  ]);
  expect(Object.keys(own.modules)).toEqual(['gw-1', 'gw-2']);
  const acme = { acme: { email: 'ops@example.com' }, names: ['rpc.example.com', 'b.example.com'] };
  const shared = await of({ shared: { address: '10.0.0.9/24', interface: 'eth0' }, http: 443, tls: acme });
  expect(shared.targets).toEqual([
    { targets: ['https://10.0.0.9:443'], labels: { instance: '10.0.0.9', group: 'gateway' } },
  ]);
  expect(shared.modules['10.0.0.9']?.http).toMatchObject({ tls_config: { server_name: 'rpc.example.com' } });
});

test.each([
  [['*.b.example.com', 'a.example.com'], 'a.example.com'],
  [['*.b.example.com'], 'rpc.b.example.com'],
])('with all names of a domain, %s, the monitor asks for a single one', async (names, server_name) => {
  process.env.DNS_TOKEN = 'l1node.T0k3n';
  const acme = { email: 'ops@example.com', dns: { linode: { key: 'env:DNS_TOKEN' } } };
  const changes = [
    ownMonitor,
    [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }],
    [['vars', 'gateway'], { tls: { acme, names } }],
  ] as const;
  const { hosts } = await contextOf({ changes, group: 'monitor' });
  const { modules } = JSON.parse(proberFile(hosts)) as { modules: Record<string, { http: object }> };
  expect(modules['gw-1']?.http).toMatchObject({ tls_config: { server_name } });
});

test('without gateways the monitor has no prober', async () => {
  const found = names(await monitor.resources(await contextOf({ changes: [ownMonitor], group: 'monitor' })));
  expect(found.filter((name) => /blackbox/.test(name))).toEqual([]);
  const gateways = [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }] as const;
  const with9115 = await monitor.resources(
    await contextOf({ changes: [ownMonitor, gateways], group: 'monitor' }),
  );
  expect(names(with9115)).toContain('prometheus-blackbox-exporter.service is enabled and running');
});

test('a gateway that lets some clients in lets the monitor in', async () => {
  const gateways = [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }] as const;
  const changes = [ownMonitor, gateways, [['vars', 'firewall'], { json_rpc: ['192.0.2.128/25'] }]] as const;
  const context = await contextOf({ changes, group: 'gateway' });
  const [clients] = await accesses(context);
  expect(clients).toMatchObject({ name: 'CLIENTS', sources: ['192.0.2.128/25', '192.0.2.9'] });
  const { files } = gatewayFiles(context);
  expect(String(files[0]?.content)).toContain('reject unless { src 192.0.2.128/25 192.0.2.9 }');
});

test('a receiver has its secrets in the file, and none of it is shown', async () => {
  const url = 'env:HOOK';
  const receivers = [{ name: 'ops', severity: 'critical', configs: { webhook_configs: [{ url }] } }];
  const file = await labDeployment([ownMonitor, [['vars', 'monitoring'], { receivers }]]);
  const { hosts } = await loadDeployment(file, { environment: { HOOK: 'http://192.0.2.1/token-4711' } });
  const [mon] = hosts.filter(({ name }) => name === 'mon-1');
  const content = alertmanagerFile(mon?.vars.monitoring.receivers ?? []);
  const parsed = JSON.parse(content.text);
  expect(parsed.receivers).toEqual([
    { name: 'nobody' },
    { name: 'ops', webhook_configs: [{ url: 'http://192.0.2.1/token-4711' }] },
  ]);
  expect(parsed.route.routes.map(({ matchers }: { matchers: string[] }) => matchers)).toEqual([
    ['alertname="TestAlert"', 'receiver="ops"'],
    ['severity="critical"'],
  ]);
  expect(content.mask(content.text)).not.toContain('4711');
  const others = hosts.filter(({ name }) => name !== 'mon-1');
  expect(others.map(({ vars }) => vars.monitoring.receivers)).toEqual([[], [], []]);
});

test("a secret may be within a text of a receiver, and Alertmanager's own braces stay", async () => {
  const slack = {
    api_url: 'https://hooks.example/services/{{ env:HOOK }}/{{env:HOOK}}',
    title: '{{ .CommonLabels.alertname }}: {{ template "a:b" . }}{{ .Labels.secret }}',
  };
  const load = (api_url: string) => {
    const receivers = [{ name: 'ops', configs: { slack_configs: [{ ...slack, api_url }] } }];
    return labDeployment([ownMonitor, [['vars', 'monitoring'], { receivers }]]).then((file) =>
      loadDeployment(file, { environment: { HOOK: 'T4711' } }),
    );
  };
  const { hosts } = await load(slack.api_url);
  const content = alertmanagerFile(
    hosts.find(({ name }) => name === 'mon-1')?.vars.monitoring.receivers ?? [],
  );
  expect(JSON.parse(content.text).receivers[1].slack_configs).toEqual([
    { ...slack, api_url: 'https://hooks.example/services/T4711/T4711' },
  ]);
  await expect(load('https://hooks.example/{{ env:NONE }}')).rejects.toThrow(
    'monitoring.receivers.0.configs.slack_configs.0.api_url: environment variable NONE is not set',
  );
});

test('one receiver gets a sign of life of the monitor, and no alert', async () => {
  const webhook_configs = [{ url: 'http://192.0.2.1/beat' }];
  const beat = { name: 'beat', severity: 'heartbeat', configs: { webhook_configs } };
  const rulesWith = async (receivers: readonly object[]) => {
    const context = await contextOf({
      changes: [ownMonitor, [['vars', 'monitoring'], { receivers }]],
      group: 'monitor',
    });
    const { route } = JSON.parse(alertmanagerFile(context.vars.monitoring.receivers).text);
    return [route.routes.at(-1), inventoryRules(context.hosts, context.vars)];
  };
  const [route, rules] = await rulesWith([webhook, beat]);
  expect(route).toMatchObject({ receiver: 'beat', matchers: ['severity="heartbeat"'] });
  expect(rules).toContain('"alert": "Heartbeat"');
  expect((await rulesWith([webhook]))[1]).not.toContain('Heartbeat');
});

test('a secret of a receiver that is missing has its place', async () => {
  const receiver = { name: 'ops', configs: { webhook_configs: [{ url: 'env:HOOK' }] } };
  const twice = await labDeployment([
    ownMonitor,
    [['vars', 'monitoring'], { receivers: [receiver, receiver] }],
  ]);
  await expect(loadDeployment(twice)).rejects.toMatchObject({
    problems: expect.arrayContaining([
      expect.objectContaining({ message: 'monitoring.receivers must have each name once' }),
    ]),
  });
  const receivers = [receiver];
  const file = await labDeployment([ownMonitor, [['vars', 'monitoring'], { receivers }]]);
  await expect(loadDeployment(file, { environment: {} })).rejects.toThrow(
    'monitoring.receivers.0.configs.webhook_configs.0.url: environment variable HOOK is not set',
  );
});

test('there is one monitor', async () => {
  const two = { 'mon-1': { address: '192.0.2.9' }, 'mon-2': { address: '192.0.2.8' } };
  await expect(loadDeployment(await labDeployment([[['groups', 'monitor'], two]]))).rejects.toMatchObject({
    message: expect.stringContaining('group monitor has 2 hosts (mon-1, mon-2): there may be only one'),
  });
});

test('a receiver that takes no test alert is named, and is tested again by the next run', async () => {
  const resource = receiversAnswer([{ ...webhook, severity: 'warning' }], '/etc/x/alertmanager.yml');
  const host = fakeHost([[/test-alert/, { exitCode: 1, stderr: 'err="connection refused"' }]], {
    sha256: async () => 'aa',
  });
  expect(await refusal([resource], resource.name, host)).toEqual([
    'receiver ops took no test alert\nerr="connection refused"',
    'correct monitoring.receivers in the inventory, or make ops reachable from h; the next run tests it again',
  ]);
  expect(await resource.check(host)).toMatchObject({ note: 'none was sent since the receivers changed' });
  expect(
    await resource.check(fakeHost([], { sha256: async () => 'aa', read: async () => Buffer.from('aa') })),
  ).toEqual({
    is: 'ok',
  });
});

test('the role of the exporter is made again where it cannot log in', async () => {
  const { vars } = await contextOf({});
  const answering = (stderr: string) =>
    fakeHost([[/statistics-role check/, { exitCode: 1, stderr }]], {
      container: async () => runningContainer,
    });
  const role = statisticsRoleIsThere(vars);
  expect(await role.check(fakeHost([]))).toEqual({ is: 'unknown', until: 'state-db is running' });
  expect(await role.check(answering(''))).toMatchObject({ is: 'drift', note: 'it cannot log in' });
  const refused = 'psql: error: password authentication failed';
  expect(await role.check(answering(refused))).toMatchObject({ is: 'drift', note: refused });
});
