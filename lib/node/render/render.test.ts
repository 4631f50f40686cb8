import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import toml from '@iarna/toml';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import type { Context } from '../../engine/resource/role.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { accesses } from '../server/firewall.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import type { Variables } from '../variables/variables.ts';
import { type RenderedHost, renderHost } from './render.ts';
import { defaultSizes } from './testdata/specification/defaults.ts';

const older: Changes = [...defaultSizes, [['vars', 'generation'], 'older']];

/** Each set of changes is loaded once: loaded inventories do not change. */
const deployments = new Map<string, Promise<Context<Variables>['hosts']>>();

function loaded(changes: Changes): Promise<Context<Variables>['hosts']> {
  const key = JSON.stringify(changes);
  const hosts =
    deployments.get(key) ?? labDeployment(changes).then(async (file) => (await loadDeployment(file)).hosts);
  deployments.set(key, hosts);
  return hosts;
}

async function rendered(
  host: string,
  changes: Changes = defaultSizes,
): Promise<RenderedHost & { text(name: string): string }> {
  const hosts = await loaded(changes);
  const found = hosts.find(({ name }) => name === host);
  if (!found) throw new Error(host);
  const result = await renderHost({ host: found, vars: found.vars, hosts });
  return { ...result, text: (name) => result.files.find((file) => file.name === name)?.content.text ?? '' };
}

interface Service {
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
}

function compose(host: RenderedHost & { text(name: string): string }) {
  const parsed = parseYaml(host.text('docker-compose.yml'), { version: '1.1' });
  return { parsed, services: parsed.services as Readonly<Record<string, Service>> };
}

/** The data about each service agrees with its file. */
function expectServicesAsInFile(host: RenderedHost & { text(name: string): string }): void {
  const known = Object.entries(host.services).flatMap(([name, service]) =>
    service === undefined ? [] : [[name, service.image, { 'rpc-playbooks.config-hash': service.configHash }]],
  );
  const said = Object.entries(compose(host).services).map(([name, { image, labels }]) => [
    name,
    image,
    labels,
  ]);
  expect(new Set(known)).toEqual(new Set(said));
}

describe.each([
  ['current', defaultSizes],
  ['older', older],
] as const)('%s generation', (_, changes) => {
  test('the files of the Database+Sync server have their paths, modes and owners', async () => {
    const host = await rendered('db-1', changes);
    expect(host.files.map(({ name, path, mode, group }) => [name, path, mode.toString(8), group])).toEqual([
      ['docker-compose.yml', '/opt/rpc-node/docker-compose.yml', '600', 'root'],
      ['init_prover_db.sql', '/opt/rpc-node/init_prover_db.sql', '640', '999'],
      ['node.config.toml', '/opt/rpc-node/node.config.toml', '600', 'root'],
      ['prover.config.json', '/opt/rpc-node/prover.config.json', '600', 'root'],
      ['snapshot_restore.toml', '/opt/rpc-node/snapshot_restore.toml', '600', 'root'],
    ]);
    expect(host.services['json-rpc']).toBeUndefined();
    expectServicesAsInFile(host);
  });

  test('so have the files of an RPC server', async () => {
    const host = await rendered('rpc-2', changes);
    expect(host.files.map(({ name, path, mode, group }) => [name, path, mode.toString(8), group])).toEqual([
      ['docker-compose.yml', '/opt/rpc-node/docker-compose.yml', '600', 'root'],
      ['node.config.toml', '/opt/rpc-node/node.config.toml', '600', 'root'],
      ['prover.config.json', '/opt/rpc-node/prover.config.json', '600', 'root'],
    ]);
    expect(host.services['state-db']).toBeUndefined();
    expect(host.services.sync).toBeUndefined();
    expectServicesAsInFile(host);
  });
});

test('a PostgreSQL image without a tag gets the version of the archives', async () => {
  const { services } = await rendered('db-1', [
    [['vars', 'images', 'database'], 'registry.example:5000/postgres'],
  ]);
  expect(services['state-db']?.image).toBe('registry.example:5000/postgres:15');
});

test('an image with a tag keeps it', async () => {
  const { services } = await rendered('db-1', [
    [['vars', 'images', 'node'], 'registry.example:5000/node:mine'],
  ]);
  expect(services.sync?.image).toBe('registry.example:5000/node:mine');
});

test('sizes of the inventory are used by every component', async () => {
  const host = await rendered('rpc-1', [
    ...defaultSizes,
    [['vars', 'container_mtu'], 1399],
    [['vars', 'pool_db'], { max_connections: 501 }],
    [['vars', 'node'], { state_connections: 101, pool_connections: 102 }],
    [['vars', 'prover'], { pool_connections: 61, executor_threads: 21, hash_db_threads: 22 }],
  ]);
  expect(compose(host).services['pool-db']).toMatchObject({
    command: ['postgres', '-N', '500', '-c', 'max_connections=501'],
  });
  expect(JSON.parse(host.text('prover.config.json'))).toMatchObject({
    dbNumberOfPoolConnections: 61,
    maxExecutorThreads: 21,
    maxHashDBThreads: 22,
  });
  expect(toml.parse(host.text('node.config.toml'))).toMatchObject({
    State: { DB: { MaxConns: 101 } },
    Pool: { DB: { MaxConns: 102 } },
  });
  expect(compose(host).parsed.networks.default.driver_opts).toEqual({
    'com.docker.network.driver.mtu': '1399',
  });
});

test('the network of the containers has the subnet of the inventory, and all containers belong to it', async () => {
  const network = { name: 'rpc-node', driver_opts: { 'com.docker.network.driver.mtu': '1500' } };
  for (const name of ['db-1', 'rpc-1']) {
    const [without, host] = [
      await rendered(name),
      await rendered(name, [...defaultSizes, [['vars', 'container_subnet'], '10.213.7.0/24']]),
    ];
    expect(compose(without).parsed.networks.default).toEqual(network);
    expect(compose(host).parsed.networks.default).toEqual({
      ...network,
      labels: { 'rpc-playbooks.subnet': '10.213.7.0/24' },
      ipam: { config: [{ subnet: '10.213.7.0/24' }] },
    });
    const hashes = ({ services }: typeof host) =>
      Object.values(services).flatMap((each) => each?.configHash ?? []);
    expect(hashes(host).filter((hash) => hashes(without).includes(hash))).toEqual([]);
  }
});

test('a changed port of the state database is used on every host', async () => {
  const changes: Changes = [
    [['vars', 'ports'], { state_db: 15432 }],
    [['groups', 'database', 'db-1', 'address'], 'fd00::11'],
  ];
  const [db, rpc] = [await rendered('db-1', changes), await rendered('rpc-1', changes)];
  expect(compose(db).services['state-db']).toMatchObject({ ports: ['15432:5432'] });
  expect(toml.parse(db.text('node.config.toml'))).toMatchObject({
    State: { DB: { Host: 'state-db', Port: '5432' } },
  });
  expect(toml.parse(db.text('snapshot_restore.toml'))).toMatchObject({ HashDB: { Port: '15432' } });
  expect(toml.parse(rpc.text('node.config.toml'))).toMatchObject({
    State: { DB: { Host: '[fd00::11]', Port: '15432' } },
  });
  expect(JSON.parse(rpc.text('prover.config.json')).databaseURL).toBe(
    'postgresql://prover_user:prover.Pw~3@[fd00::11]:15432/prover_db',
  );
});

test('a port is published only where its listener is enabled', async () => {
  const disabled = (node_config: unknown): Changes => [
    ...defaultSizes,
    [['vars', 'node_config'], node_config],
  ];
  const ports = async (host: string, service: string, changes: Changes) => {
    const rendering = await rendered(host, changes);
    const published = rendering.ports
      .filter((each) => each.service === service)
      .map(({ published, target }) => `${published}:${target}`);
    const definition = compose(rendering).services[service] as unknown as { ports?: string[] };
    expect(definition.ports ?? []).toEqual(published);
    expect('ports' in definition).toBe(published.length > 0);
    return published;
  };
  const noWebSockets = disabled({ RPC: { WebSockets: { Enabled: false } } });
  expect(await ports('rpc-1', 'json-rpc', noWebSockets)).toEqual(['8123:8123', '9092:9091']);
  const noMetrics = disabled({ Metrics: { Enabled: false } });
  expect(await ports('rpc-1', 'json-rpc', noMetrics)).toEqual(['8123:8123', '8133:8133']);
  expect(await ports('db-1', 'sync', noMetrics)).toEqual([]);
  expect((await rendered('db-1', noMetrics)).listens.sync).toEqual([]);
  expect(await ports('db-1', 'sync', defaultSizes)).toEqual(['9091:9091']);
  expect((await rendered('db-1', defaultSizes)).listens.sync).toEqual([9091]);
});

test('json-rpc serves the namespaces of the inventory', async () => {
  const command = async (changes: Changes) => {
    const service = compose(await rendered('rpc-1', changes)).services['json-rpc'];
    return (service as unknown as { command: string[] }).command.slice(-2);
  };
  expect(await command(defaultSizes)).toEqual(['--http.api', 'eth,net,debug,zkevm,txpool,web3']);
  expect(
    await command([
      [
        ['vars', 'http_api'],
        ['eth', 'zkevm'],
      ],
    ]),
  ).toEqual(['--http.api', 'eth,zkevm']);
});

describe('the hash of a service changes with', () => {
  const changed = async (host: string, changes: Changes): Promise<string[]> => {
    const [was, is] = [await rendered(host, []), await rendered(host, changes)];
    const names = Object.keys(was.services) as (keyof typeof was.services)[];
    return names.filter((name) => was.services[name]?.configHash !== is.services[name]?.configHash);
  };
  test.each<[string, string, Changes, string[]]>([
    ['nothing', 'db-1', [], []],
    ['a file mounted into it', 'db-1', [[['vars', 'network', 'l1_rpc_url'], 'http://a.example/']], ['sync']],
    [
      'the same, on an RPC server',
      'rpc-1',
      [[['vars', 'network', 'l1_rpc_url'], 'http://a.example/']],
      ['json-rpc'],
    ],
    ['the genesis file', 'rpc-1', [[['vars', 'network', 'genesis', 'sha256'], 'd'.repeat(64)]], ['json-rpc']],
    ['its image', 'db-1', [[['vars', 'images', 'prover'], 'other:1']], ['prover']],
    ['its port', 'rpc-1', [[['vars', 'ports'], { rpc_http: 80 }]], ['json-rpc']],
    [
      'the prover database',
      'db-1',
      [[['vars', 'credentials', 'prover', 'user'], 'other']],
      ['state-db', 'prover'],
    ],
    ['a size of the server', 'db-1', [[['vars', 'state_db', 'work_mem'], '8MB']], ['state-db']],
  ])('%s (%s)', async (_, host, changes, expected) => {
    expect(await changed(host, changes)).toEqual(expected);
  });
});

test('another password changes the programs that log in with it, and no database container, whose image reads it once', async () => {
  const secret = (name: string) => join(temporaryDirectory(), name);
  const file = secret('another');
  writeFileSync(file, 'another.Pw~9', { mode: 0o600 });
  const changes = ['state', 'pool', 'prover'].map(
    (store) => [['vars', 'credentials', store, 'password'], `file:${file}`] as const,
  );
  const [was, is] = [await rendered('db-1', []), await rendered('db-1', changes)];
  const differs = (['state-db', 'pool-db', 'prover', 'sync'] as const).filter(
    (name) => was.services[name]?.configHash !== is.services[name]?.configHash,
  );
  expect(differs).toEqual(['prover', 'sync']);
  // A container of an earlier version of this program has a label that is over the passwords, too.
  const earlier = ({ services }: typeof was) => services['state-db']?.earlierHashes ?? [];
  expect(earlier(was)).toHaveLength(2);
  expect(earlier(was)).not.toContain(was.services['state-db']?.configHash);
  expect(earlier(is).filter((hash) => earlier(was).includes(hash))).toEqual([]);
  expect(was.services.sync?.earlierHashes).toEqual([]);
});

test('no masked file shows a password', async () => {
  for (const { files } of [await rendered('db-1'), await rendered('rpc-1')]) {
    for (const { name, content } of files) {
      expect(content.holdsSecrets, name).toBe(true);
      expect(content.text).toMatch(/\.Pw~/);
      expect(content.mask(content.text)).not.toMatch(/\.Pw~/);
      expect(content.mask(content.text.replaceAll('.Pw~', '.older-'))).not.toMatch(/\.older-/);
    }
  }
});

test.each([
  ['current', defaultSizes],
  ['older', older],
] as const)(
  'one server for all components has the services of both kinds of server: %s',
  async (_, changes) => {
    const definitions = (host: Awaited<ReturnType<typeof rendered>>) => {
      const { networks, version, services } = compose(host).parsed;
      return { networks, version, services: services as Record<string, Record<string, unknown>> };
    };
    const [database, rpc] = [
      definitions(await rendered('db-1', changes)),
      definitions(await rendered('rpc-1', changes)),
    ];
    const host = await rendered('db-1', [...changes, [['groups', 'rpc'], { 'db-1': null }]]);
    const { services, ...rest } = definitions(host);
    // The files that json-rpc mounts are those of this host.
    const { labels: _labels, ...served } = services['json-rpc'] ?? {};
    const { labels: _others, ...elsewhere } = rpc.services['json-rpc'] ?? {};
    expect(served).toEqual(elsewhere);
    expect({ ...rest, services: { ...services, 'json-rpc': undefined } }).toEqual(database);
    expect(Object.keys(services)).toEqual(['state-db', 'pool-db', 'prover', 'sync', 'json-rpc']);
    expectServicesAsInFile(host);
    expect(host.text('node.config.toml')).toBe((await rendered('db-1', changes)).text('node.config.toml'));
  },
);

test('an RPC server that is a gateway, too, has the files of an RPC server', async () => {
  const as = (name: string, value: unknown): Changes => [
    ...defaultSizes,
    [['groups', 'gateway'], { [name]: value }],
    [['vars', 'gateway'], { http: 80, websocket: 81 }],
  ];
  const both = await rendered('rpc-1', as('rpc-1', null));
  expect(compose(both).parsed).toEqual(compose(await rendered('rpc-1')).parsed);
  expect((await rendered('gw-1', as('gw-1', { address: '10.0.0.1' }))).files).toEqual([]);
});

test('one server for all components opens each port as on a server of its own', async () => {
  const hosts = await loaded([[['groups', 'rpc'], { 'db-1': null }]]);
  const host = hosts[0] as (typeof hosts)[number];
  const opened = await accesses({ host, vars: host.vars, hosts });
  const ports = Object.fromEntries(
    opened.map(({ name, ports }) => [name, ports.map(({ published }) => published)]),
  );
  expect(ports).toEqual({
    INTERNAL: ['5432', '5433', '50061', '50071'],
    METRICS: ['9091', '9092'],
    'JSON-RPC': ['8123', '8133'],
    EXPORTERS: ['9100', '9187'],
  });
});

test('the databases and the prover have a limit of open files above what the prover opens at its start', async () => {
  const limits = async (host: string, changes: Changes = []) => {
    const { services } = compose(await rendered(host, changes));
    const entries = Object.entries(services as Record<string, { ulimits?: { nofile: unknown } }>);
    return Object.fromEntries(entries.map(([name, { ulimits }]) => [name, ulimits?.nofile]));
  };
  const of = (number: number) => ({ soft: number, hard: number });
  expect(await limits('db-1')).toEqual({
    'state-db': of(8192),
    'pool-db': of(8192),
    prover: of(8192),
    sync: undefined,
  });
  const many: Changes = [
    [['vars', 'prover'], { pool_connections: 6000, executor_threads: 21, hash_db_threads: 22 }],
    [['vars', 'state_db'], { max_connections: 30000 }],
  ];
  expect(await limits('rpc-1', many)).toMatchObject({
    prover: of(12000),
    'pool-db': of(8192),
    'json-rpc': undefined,
  });
});
