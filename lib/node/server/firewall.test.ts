import { expect, test } from 'vitest';
import { loadDeployment } from '../inventory/inventory.ts';
import { renderHost } from '../render/render.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { accesses } from './firewall.ts';

async function of(name: string, changes: Changes = []) {
  const { hosts } = await loadDeployment(await labDeployment(changes));
  const host = hosts.find((one) => one.name === name);
  if (!host) throw new Error(`there is no ${name}`);
  const found = await accesses({ host, vars: host.vars, hosts });
  const ports = Object.fromEntries(
    found.map((access) => [access.name, access.ports.map((port) => port.published)]),
  );
  const sources = Object.fromEntries(found.map((access) => [access.name, access.sources]));
  return { host, hosts, ports, sources };
}

test('databases, provers and metrics are for the other hosts, JSON-RPC is for everybody', async () => {
  const database = await of('db-1');
  expect(database.ports).toEqual({
    INTERNAL: ['5432', '5433', '50061', '50071'],
    METRICS: ['9091'],
    'JSON-RPC': [],
    EXPORTERS: ['9100', '9187'],
  });
  const others = ['172.30.77.12', '172.30.77.13'];
  expect(database.sources).toMatchObject({ INTERNAL: others, METRICS: others });
  const rpc = await of('rpc-1');
  expect(rpc.ports).toMatchObject({
    INTERNAL: ['5433', '50061', '50071'],
    METRICS: ['9092'],
    'JSON-RPC': ['8123', '8133'],
  });
  expect(rpc.sources).toEqual({
    INTERNAL: ['172.30.77.11', '172.30.77.13'],
    METRICS: ['172.30.77.11', '172.30.77.13'],
    'JSON-RPC': ['172.30.77.11', '172.30.77.13', '0.0.0.0/0', '::/0'],
    EXPORTERS: [],
  });
});

test('no published port is left out', async () => {
  for (const name of ['db-1', 'rpc-1', 'rpc-2']) {
    const { host, hosts, ports } = await of(name);
    const guarded = Object.entries(ports)
      .flatMap(([group, numbers]) => (group === 'EXPORTERS' ? [] : numbers))
      .sort();
    const { files } = await renderHost({ host, vars: host.vars, hosts });
    const compose = files.find((file) => file.name === 'docker-compose.yml')?.content.text ?? '';
    const published = [...compose.matchAll(/^ {6}- "(\d+):\d+"$/gm)].map(([, port]) => port);
    expect(published.length).toBeGreaterThan(4);
    expect(guarded).toEqual(published.sort());
  }
});

test('the ports and sources of the inventory', async () => {
  const { ports, sources } = await of('rpc-1', [
    [['vars', 'ports'], { rpc_http: 80, rpc_metrics: 5433, pool_db: 9092 }],
    [
      ['vars', 'firewall'],
      { json_rpc: ['192.0.2.0/24'], metrics: ['192.0.2.7'], internal: ['198.51.100.1'] },
    ],
    [['groups', 'database', 'db-1', 'vars'], { firewall: { connects_from: ['10.1.1.1', 'fd00::/64'] } }],
    [['groups', 'rpc', 'rpc-2', 'address'], 'rpc-2.example'],
  ]);
  expect(ports).toMatchObject({ METRICS: ['5433'], 'JSON-RPC': ['80', '8133'] });
  const own = ['10.1.1.1', 'fd00::/64', 'rpc-2.example'];
  expect(sources).toEqual({
    INTERNAL: [...own, '198.51.100.1'],
    METRICS: [...own, '192.0.2.7'],
    'JSON-RPC': [...own, '192.0.2.0/24'],
    EXPORTERS: [],
  });
});

test.each([['rpc-1.example'], ['10.0.0.0/33'], ['-j ACCEPT'], ['10.0.0.1\n-A INPUT -j ACCEPT']])(
  '%j is refused with its place',
  async (source) => {
    await expect(of('db-1', [[['vars', 'firewall'], { metrics: [source] }]])).rejects.toThrow(
      /lab\.yaml:\d+:\d+.*must be an IP address, or a network such as 10\.0\.0\.0\/8/,
    );
  },
);

test.each(['::ffff:10.0.0.1', '::FFFF:10.0.0.0/104'])(
  '%s would let nobody in, and is refused',
  async (source) => {
    await expect(of('db-1', [[['vars', 'firewall'], { json_rpc: [source] }]])).rejects.toThrow(
      /lab\.yaml:\d+:\d+.*is an IPv4 address in the notation of IPv6/,
    );
  },
);
