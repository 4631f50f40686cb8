import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import toml from '@iarna/toml';
import { beforeAll, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import * as z from 'zod';
import type { Facts } from '../lib/engine/host/facts/facts.ts';
import type { Reader } from '../lib/engine/host/host.ts';
import { Output } from '../lib/engine/host/output.ts';
import { shell } from '../lib/engine/host/shell.ts';
import { aDevice, aMount } from '../lib/engine/host/testing/disk-facts.ts';
import type { Context, Role } from '../lib/engine/resource/role.ts';
import { fakeHost } from '../lib/engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../lib/engine/resource/testing/test-host.ts';
import { Secret } from '../lib/engine/secret/secret.ts';
import { loadDeployment } from '../lib/node/inventory/inventory.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { type Changes, labDeployment } from '../lib/node/testing/lab-deployment.ts';
import { type Variables, variablesSchema } from '../lib/node/variables/variables.ts';

// Each variable of the inventory is changed alone, and everything that uses it has to change:
// values in the rendered files, and roles, in what their resources read and would run on a bare
// host. `db` is the Database+Sync server, `rpc` an RPC server, `gw` a gateway.

const GB = 1e9;
const facts: Facts = {
  distribution: { id: 'debian', version: '12', codename: 'bookworm', title: 'Debian 12' },
  architecture: 'x86_64',
  kernel: '6.1.0',
  cpu: { count: 4, mhz: 2000, model: 'any', flags: ['avx2'] },
  memory: 8 * GB,
  mounts: ['/', '/data', '/srv'].map((target, i) =>
    aMount(target, { source: `/dev/vd${i}`, size: (i === 1 ? 900 : 50) * GB }),
  ),
  blockDevices: [aDevice('/dev/vdz', { transport: 'nvme' })],
  fstab: [],
  vendor: '',
  systemd: true,
  container: undefined,
  clockOffset: 0,
  hostname: 'host',
};

/** Ends an apply that waits for a state that a bare host never reaches. */
class Enough extends Error {}
const mostAsked = 40;

/** A host with a Docker engine and nothing else that records the reads and commands on it. */
function bareHost(notes: unknown[]): TestHost {
  const note = (...what: unknown[]): void => {
    notes.push(what.map((each) => (each instanceof Secret ? each.reveal() : each)));
    if (notes.length > mostAsked) throw new Enough();
  };
  const reader: Reader = {
    name: 'bare',
    $: shell(async (command, { stdin, timeoutSeconds }) => {
      note('$', command, stdin, timeoutSeconds);
      return new Output(1, Buffer.alloc(0), '');
    }),
    stat: async (path) => void note('stat', path) as undefined,
    sha256: async (path) => void note('sha256', path) as undefined,
    compare: async (path, sha256, largest) => {
      note('compare', path, sha256, largest);
      return { same: false, content: undefined };
    },
    read: async (path) => void note('read', path) as undefined,
    package: async (name) => {
      note('package', name);
      return { installed: false, version: undefined };
    },
    unit: async (name) => {
      note('unit', name);
      // With its engine running: the steps for a container are known only then.
      const isEngine = name.startsWith('docker');
      return {
        load: isEngine ? 'loaded' : 'not-found',
        active: isEngine ? 'active' : 'inactive',
        sub: '',
        enabled: '',
        activeSince: 0,
        needsReload: false,
      };
    },
    container: async (name) => void note('container', name) as undefined,
    sql: async (target, query) => {
      note('sql', target, query);
      return { ok: false, error: 'no such container' };
    },
  };
  return fakeHost([], {
    ...reader,
    run: shell(async (command, { stdin }) => {
      note('run', command, stdin);
      return new Output(0, Buffer.alloc(0), '');
    }),
    place: (step) => note('place', step),
    progress: () => {},
    sleep: async (seconds) => note('sleep', seconds),
  });
}

/** The resources of a role, with their reads and commands. */
async function traceOf(role: Role<Variables>, context: Context<Variables>): Promise<string> {
  const resources = await role.resources(context);
  const traces = resources.map(async (resource) => {
    const notes: unknown[] = [resource.name, resource.expects];
    const host = bareHost(notes);
    notes.push(await resource.check(host).catch((error: Error) => error.message));
    notes.push(await applyDrift(host, resource).catch((error: Error) => error.message));
    return notes;
  });
  return JSON.stringify(await Promise.all(traces)).replaceAll(
    /\.lab\/[\w-]+|\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/g,
    '',
  );
}

/** What an operator asks for, which no deployment keeps. */
const verbs = ['drained', 'gateway-without', 'removed', 'restarted', 'rewind'];
const roleNames = readdirSync(new URL('../roles', import.meta.url))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.ts'.length))
  .filter((name) => !verbs.includes(name));
const onlyOn: Readonly<Record<string, 'db' | 'rpc' | 'gw'>> = {
  gateway: 'gw',
  'gateway-address': 'gw',
  'gateway-certificate': 'gw',
  'gateway-preflight': 'gw',
  'state-db': 'db',
  snapshot: 'db',
  sync: 'db',
  'json-rpc': 'rpc',
  verify: 'rpc',
  'database-reachable': 'rpc',
};
let allRoles: readonly Role<Variables>[];
beforeAll(async () => {
  allRoles = await Promise.all(roleNames.map(async (name) => (await import(`../roles/${name}.ts`)).default));
}, 120_000);

/**
 * Leaves of a parsed file, `Section.Key` -> value. Without Compose's hashes, which change with
 * everything.
 */
function leaves(tree: unknown, path: readonly string[] = []): [string, string][] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree))
    return [[path.join('.').replace(/^services\./, ''), JSON.stringify(tree)]];
  return Object.entries(tree)
    .filter(([key]) => key !== 'labels')
    .flatMap(([key, value]) => leaves(value, [...path, key]));
}

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  toml: (text) => toml.parse(text),
  json: (text) => JSON.parse(text),
  yml: (text) => parseYaml(text, { version: '1.1' }),
  sql: (text) => text,
};

const oneOfEach: Changes = [
  [['groups', 'rpc', 'rpc-2'], undefined],
  [['groups', 'gateway'], { 'gw-1': { address: '172.30.77.21' } }],
];

/**
 * Everything that depends on a deployment's variables: `db node.config.toml Log.Level` or `rpc
 * role verify` -> its content.
 */
async function everything(changes: Changes): Promise<Map<string, string>> {
  const { hosts } = await loadDeployment(await labDeployment([...oneOfEach, ...changes]));
  const all = new Map<string, string>();
  for (const host of hosts) {
    const [group = ''] = host.groups;
    const kind = group === 'database' ? 'db' : group === 'gateway' ? 'gw' : 'rpc';
    const context = { host, vars: host.vars, hosts, facts, includes: () => true, given: {} };
    const { files } = await renderHost(context);
    for (const { name, content } of files) {
      const tree = parsers[name.split('.').at(-1) ?? '']?.(content.text);
      for (const [key, value] of leaves(tree)) all.set(`${kind} ${name} ${key}`.trim(), value);
    }
    const roles = allRoles.filter(
      ({ name }) => (onlyOn[name] ?? (kind === 'gw' ? undefined : kind)) === kind,
    );
    for (const role of roles) all.set(`${kind} role ${role.name}`, await traceOf(role, context));
  }
  return all;
}

type Row = readonly [variable: string, value: unknown, followers: readonly string[]];

/**
 * Without `db` or `rpc` before it, both change. A role that only writes the files named before it
 * is not named.
 */
const table: readonly Row[] = [
  ['network.region', 'lab-2', ['db role preflight']],
  [
    'network.trusted_sequencer_url',
    'http://other/',
    [
      'node.config.toml Synchronizer.TrustedSequencerURL',
      'node.config.toml RPC.SequencerNodeURI',
      'db role state-db',
      'db role sync',
      'role preflight',
      'role prover',
      'rpc role database-reachable',
      'rpc role verify',
    ],
  ],
  [
    'network.l1_rpc_url',
    'http://other/',
    [
      'node.config.toml Etherman.URL',
      'db role state-db',
      'db role sync',
      'role preflight',
      'role prover',
      'rpc role database-reachable',
    ],
  ],
  ['network.genesis.url', 'http://other/g', ['role configuration', 'role preflight']],
  ['network.genesis.sha256', 'd'.repeat(64), ['role configuration']],
  [
    'images.node',
    'other/node',
    [
      'db docker-compose.yml sync.image',
      'db role snapshot',
      'db role sync',
      'rpc docker-compose.yml json-rpc.image',
      'rpc role json-rpc',
      'role images',
      'role next-version',
      'role preflight',
    ],
  ],
  [
    'images.prover',
    'other/prover',
    [
      'db role snapshot',
      'docker-compose.yml prover.image',
      'role images',
      'role next-version',
      'role preflight',
      'role prover',
    ],
  ],
  [
    'images.database',
    'other/postgres:15',
    [
      'db docker-compose.yml state-db.image',
      'db role state-db',
      'docker-compose.yml pool-db.image',
      'db role snapshot',
      'role images',
      'role pool-db',
      'role preflight',
      'rpc role database-reachable',
    ],
  ],
  ['registry.insecure', false, ['role docker', 'role preflight']],
  ['registry.address', 'other:5000', ['role docker', 'role preflight']],
  [
    'node_binary',
    '/app/other',
    [
      'db docker-compose.yml sync.command',
      'db role preflight',
      'db role snapshot',
      'rpc docker-compose.yml json-rpc.command',
    ],
  ],
  ...(['user', 'database'] as const).map((key): Row => {
    const [environment, name] = key === 'user' ? ['POSTGRES_USER', 'User'] : ['POSTGRES_DB', 'Name'];
    return [
      `credentials.state.${key}`,
      'other',
      [
        `db docker-compose.yml state-db.environment.${environment}`,
        `db snapshot_restore.toml State.DB.${name}`,
        'db role known-migrations',
        'db role no-second-logins',
        'db role replica-source',
        'db role snapshot',
        'db role state-db',
        'db role sync',
        'role preflight',
        'rpc role database-reachable',
        `node.config.toml State.DB.${name}`,
      ],
    ];
  }),
  [
    'credentials.state.password',
    'env:OTHER_PASSWORD',
    [
      'db docker-compose.yml state-db.environment.POSTGRES_PASSWORD',
      'db snapshot_restore.toml State.DB.Password',
      'db role state-db',
      'node.config.toml State.DB.Password',
      'role preflight',
      'rpc role database-reachable',
    ],
  ],
  [
    'credentials.pool.user',
    'other',
    [
      'db role sync',
      'docker-compose.yml pool-db.environment.POSTGRES_USER',
      'node.config.toml Pool.DB.User',
      'role known-migrations',
      'role no-second-logins',
      'role pool-db',
      'role preflight',
      'rpc role json-rpc',
    ],
  ],
  [
    'credentials.pool.password',
    'env:OTHER_PASSWORD',
    [
      'docker-compose.yml pool-db.environment.POSTGRES_PASSWORD',
      'node.config.toml Pool.DB.Password',
      'role pool-db',
      'role preflight',
    ],
  ],
  [
    'credentials.pool.database',
    'other',
    [
      'db role sync',
      'docker-compose.yml pool-db.environment.POSTGRES_DB',
      'node.config.toml Pool.DB.Name',
      'role known-migrations',
      'role no-second-logins',
      'role pool-db',
      'role preflight',
      'rpc role json-rpc',
    ],
  ],
  ...(['user', 'database'] as const).map(
    (key): Row => [
      `credentials.prover.${key}`,
      'other',
      [
        'db init_prover_db.sql',
        `db snapshot_restore.toml HashDB.${key === 'user' ? 'User' : 'Name'}`,
        'db role snapshot',
        'db role state-db',
        'prover.config.json databaseURL',
        'role preflight',
        'rpc role database-reachable',
      ],
    ],
  ),
  [
    'credentials.prover.password',
    'env:OTHER_PASSWORD',
    [
      'db init_prover_db.sql',
      'db snapshot_restore.toml HashDB.Password',
      'db role state-db',
      'prover.config.json databaseURL',
      'role preflight',
      'rpc role database-reachable',
    ],
  ],
  [
    'paths.deployment',
    '/opt/other',
    [
      'db docker-compose.yml state-db.volumes',
      'db docker-compose.yml sync.volumes',
      'db role snapshot',
      'db role state-db',
      'db role sync',
      'rpc docker-compose.yml json-rpc.volumes',
      'rpc role json-rpc',
      'docker-compose.yml prover.volumes',
      'role pool-db',
      'role preflight',
      'role prover',
      'role release',
    ],
  ],
  [
    'paths.data',
    '/srv/rpc',
    [
      'db docker-compose.yml state-db.volumes',
      'db role snapshot',
      'db role state-db',
      'db role sync',
      'docker-compose.yml pool-db.volumes',
      'role disk-alert',
      'role docker',
      'role docker-root',
      'role monitor',
      'role pool-db',
      'role preflight',
    ],
  ],
  [
    'ports.state_db',
    15432,
    [
      'db docker-compose.yml state-db.ports',
      'db snapshot_restore.toml State.DB.Port',
      'db snapshot_restore.toml HashDB.Port',
      'db role firewall',
      'db role replica-source',
      'db role state-db',
      'role preflight',
      'rpc node.config.toml State.DB.Port',
      'rpc prover.config.json databaseURL',
      'rpc role database-reachable',
    ],
  ],
  [
    'ports.pool_db',
    15433,
    ['docker-compose.yml pool-db.ports', 'role firewall', 'role pool-db', 'role preflight'],
  ],
  ['ports.prover_hash_db', 15061, ['docker-compose.yml prover.ports', 'role firewall', 'role preflight']],
  ['ports.prover_executor', 15071, ['docker-compose.yml prover.ports', 'role firewall', 'role preflight']],
  [
    'ports.sync_metrics',
    19091,
    [
      'db docker-compose.yml sync.ports',
      'db role firewall',
      'db role preflight',
      'db role sync',
      'role monitor',
    ],
  ],
  [
    'ports.rpc_http',
    18123,
    [
      'rpc docker-compose.yml json-rpc.ports',
      'rpc role firewall',
      'rpc role preflight',
      'rpc role verify',
      'gw role gateway',
    ],
  ],
  [
    'ports.rpc_websocket',
    18133,
    [
      'rpc docker-compose.yml json-rpc.ports',
      'rpc role firewall',
      'rpc role preflight',
      'rpc role verify',
      'gw role gateway',
    ],
  ],
  [
    'ports.rpc_metrics',
    19092,
    [
      'rpc docker-compose.yml json-rpc.ports',
      'rpc role firewall',
      'rpc role preflight',
      'rpc role verify',
      'role monitor',
    ],
  ],
  ['state_db.max_connections', 900, ['db docker-compose.yml state-db.command']],
  ['state_db.shared_buffers', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.work_mem', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.wal_buffers', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.effective_cache_size', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.maintenance_work_mem', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.max_wal_size', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.min_wal_size', '1GB', ['db docker-compose.yml state-db.command']],
  ['state_db.max_worker_processes', 3, ['db docker-compose.yml state-db.command']],
  ['state_db.group_id', 70, ['db role configuration']],
  ['state_db.shm_size', '2gb', ['db docker-compose.yml state-db.shm_size']],
  ['pool_db.max_connections', 900, ['docker-compose.yml pool-db.command']],
  ['node.state_connections', 90, ['node.config.toml State.DB.MaxConns']],
  ['node.pool_connections', 90, ['node.config.toml Pool.DB.MaxConns']],
  ['prover.pool_connections', 90, ['prover.config.json dbNumberOfPoolConnections']],
  ['prover.executor_threads', 9, ['prover.config.json maxExecutorThreads']],
  ['prover.hash_db_threads', 9, ['prover.config.json maxHashDBThreads']],
  ['node_config', { Log: { Level: 'debug' } }, ['node.config.toml Log.Level']],
  [
    'node_config',
    { RPC: { Port: 9000 } },
    ['node.config.toml RPC.Port', 'rpc docker-compose.yml json-rpc.ports', 'rpc role json-rpc'],
  ],
  [
    'node_config',
    { RPC: { WebSockets: { Port: 9000 } } },
    ['node.config.toml RPC.WebSockets.Port', 'rpc docker-compose.yml json-rpc.ports'],
  ],
  [
    'node_config',
    { Metrics: { Port: 9000 } },
    [
      'node.config.toml Metrics.Port',
      'db docker-compose.yml sync.ports',
      'db role sync',
      'rpc docker-compose.yml json-rpc.ports',
    ],
  ],
  [
    'node_config',
    { RPC: { WebSockets: { Enabled: false } } },
    [
      'node.config.toml RPC.WebSockets.Enabled',
      'rpc docker-compose.yml json-rpc.ports',
      'rpc role firewall',
      'rpc role preflight',
      'rpc role verify',
    ],
  ],
  ['http_api', ['eth', 'net'], ['rpc docker-compose.yml json-rpc.command', 'rpc role verify']],
  ['prover_config', { dbMTCacheSize: 5 }, ['prover.config.json dbMTCacheSize']],
  [
    'prover_config',
    { hashDBServerPort: 9000 },
    [
      'prover.config.json hashDBServerPort',
      'node.config.toml MTClient.URI',
      'docker-compose.yml prover.ports',
      'role prover',
    ],
  ],
  [
    'prover_config',
    { executorServerPort: 9000 },
    [
      'prover.config.json executorServerPort',
      'node.config.toml Executor.URI',
      'docker-compose.yml prover.ports',
      'role prover',
    ],
  ],
  [
    'snapshot.state.url',
    'http://other/testnet_state_db.sql.tar.gz',
    ['db role preflight', 'db role snapshot'],
  ],
  ['snapshot.state.sha256', 'd'.repeat(64), ['db role snapshot']],
  [
    'snapshot.prover.url',
    'http://other/testnet_prover_db.sql.tar.gz',
    ['db role preflight', 'db role snapshot'],
  ],
  ['snapshot.prover.sha256', 'd'.repeat(64), ['db role snapshot']],
  ['snapshot.date', '2025-01-01', ['db role snapshot']],
  ['snapshot.connections', 8, ['db role snapshot']],
  ['snapshot.restore_with', 'image', ['db role preflight', 'db role snapshot']],
  ['snapshot.restore_with', 'pg_restore', ['db role preflight', 'db role snapshot']],
  ['snapshot.source.repository', 'http://other/', ['db role preflight', 'db role snapshot']],
  ['snapshot.source.ref', 'other', ['db role preflight', 'db role snapshot']],
  ['snapshot.source.go_version', '1.99', ['db role preflight', 'db role snapshot']],
  ['firewall.json_rpc', ['192.0.2.1'], ['rpc role firewall', 'gw role gateway']],
  ['firewall.metrics', ['192.0.2.1'], ['role firewall', 'gw role gateway']],
  ['firewall.internal', ['192.0.2.1'], ['role firewall']],
  ['firewall.connects_from', ['192.0.2.1'], ['role firewall', 'gw role gateway']],
  ['gateway.http', 18123, ['gw role gateway', 'role monitor']],
  ['gateway.websocket', 18133, ['gw role gateway']],
  ['gateway.metrics', 19101, ['gw role gateway', 'role monitor']],
  ['gateway.peers', 18143, ['gw role gateway']],
  ['gateway.most_behind', 9, ['gw role gateway']],
  ['gateway.clients.requests', 9, ['gw role gateway']],
  ['gateway.clients.connections', 9, ['gw role gateway']],
  ['gateway.clients.batch', 9, ['gw role gateway']],
  ['gateway.clients.body', 300_000, ['gw role gateway']],
  ['container_mtu', 1300, ['docker-compose.yml networks.default.driver_opts.com.docker.network.driver.mtu']],
  [
    'container_subnet',
    '10.213.7.0/24',
    [
      'docker-compose.yml networks.default.ipam.config',
      'db role state-db',
      'role preflight',
      'rpc role database-reachable',
    ],
  ],
  ['time_servers', ['other'], ['role time-sync']],
  ['docker_root.disk', '/srv', ['role disk-alert', 'role docker-root', 'role preflight']],
  ['disk_alert.webhook', 'http://other/', ['role disk-alert']],
  ['disk_alert.warn_percent', 90, ['role disk-alert']],
  ['disk_alert.clear_percent', 50, ['role disk-alert']],
  ['disk_alert.every_seconds', 99, ['role disk-alert']],
  ['hardware', 'required', ['role preflight']],
  ['verify.pause_seconds', 9, ['db role sync', 'rpc role verify']],
];

/** The first ones are in place of `network.l1_rpc_url`. */
const severalOfLayer1: Changes = [
  [['vars', 'network', 'l1_rpc_url'], undefined],
  [
    ['vars', 'network', 'l1_rpc_urls'],
    ['http://172.30.77.10:8546', 'http://b/'],
  ],
];
const withSeveral: readonly Row[] = [
  [
    'network.l1_rpc_urls',
    ['http://172.30.77.10:8546', 'http://c/'],
    ['db role layer1', 'db role state-db', 'role preflight', 'role prover'],
  ],
  [
    'ports.layer1',
    18_547,
    [
      'db role firewall',
      'db role layer1',
      'db role sync',
      'node.config.toml Etherman.URL',
      'role preflight',
      'rpc role database-reachable',
    ],
  ],
];

/** Variables without an effect on a bare host, and the tests of their effect. */
const elsewhere: Readonly<Record<string, string>> = {
  generation: 'lib/node/render/specification.test.ts',
  'network.kind': 'lib/node/inventory/network-rules.ts',
  'network.chain_id': 'lib/node/chain/genesis-file.ts',
  'network.l2_chain_id': 'lib/node/preflight/preflight.test.ts',
  region: 'lib/node/preflight/advice.ts',
  'snapshot.replace_existing': 'test/deploy/faults.test.ts',
  'snapshot.restore_jobs': 'lib/node/snapshot/restore-tool.test.ts',
  postgresql_repository: 'lib/node/packages/client.ts',
  'docker_root.format': 'roles/docker-root.ts',
  'docker_root.temporary_disk': 'lib/node/server/cloud-disks.test.ts',
  'paths.temporary_disk': 'lib/node/server/cloud-disks.test.ts',
  'verify.attempts': 'lib/node/chain/installation-check.ts',
  'gateway.trusted.addresses': 'test/gateway/gateway.test.ts',
  'gateway.trusted.client_in': 'test/gateway/gateway.test.ts',
  'gateway.methods.allow': 'test/gateway/methods.test.ts',
  'gateway.methods.deny': 'test/gateway/methods.test.ts',
  'gateway.methods.limits': 'test/gateway/methods.test.ts',
  'gateway.methods.heavy': 'test/gateway/methods.test.ts',
  'gateway.keys': 'test/gateway/keys.test.ts',
  'gateway.key_required': 'test/gateway/keys.test.ts',
  'gateway.fallback': 'test/gateway/fallback.test.ts',
  methods: 'lib/node/gateway/rules.ts',
  'gateway.least_serving': 'lib/node/gateway/drain.test.ts',
  'gateway.drain_seconds': 'lib/node/gateway/drain.test.ts',
  'gateway.healthy_seconds': 'lib/node/gateway/drain.test.ts',
  'gateway.rollback': 'test/faults/long/rolling.test.ts',
  'gateway.shared.address': 'lib/node/gateway/render.test.ts',
  'gateway.shared.interface': 'lib/node/gateway/render.test.ts',
  'gateway.tls.certificate': 'lib/node/inventory/gateway.test.ts',
  'gateway.tls.key': 'lib/node/inventory/gateway.test.ts',
  'gateway.tls.names': 'lib/node/inventory/gateway.test.ts',
  'gateway.tls.acme.email': 'lib/node/gateway/certificate.test.ts',
  'gateway.tls.acme.directory': 'lib/node/gateway/certificate.test.ts',
  'gateway.tls.acme.dns.rfc2136.server': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.rfc2136.port': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.rfc2136.name': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.rfc2136.secret': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.rfc2136.algorithm': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.cloudflare.api_token': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.route53.access_key': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.route53.secret_key': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.google.account': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.digitalocean.token': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.ovh.endpoint': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.ovh.application_key': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.ovh.application_secret': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.ovh.consumer_key': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.linode.key': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.dnsimple.token': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.gehirn.api_token': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.gehirn.api_secret': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.sakuracloud.api_token': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.sakuracloud.api_secret': 'test/gateway/dns-plugins.test.ts',
  'gateway.tls.acme.dns.propagation_seconds': 'lib/node/gateway/certificate.test.ts',
  'image_keys.node': 'test/kinds/image-signatures.test.ts',
  'image_keys.prover': 'test/kinds/image-signatures.test.ts',
  'image_keys.database': 'test/kinds/image-signatures.test.ts',
  'snapshot.manifest': 'lib/node/inventory/manifest.test.ts',
  'snapshot.from': 'lib/node/inventory/manifest.test.ts',
  'snapshot.s3.endpoint': 'lib/node/variables/s3.test.ts',
  'snapshot.s3.region': 'lib/node/variables/s3.test.ts',
  'snapshot.s3.path_style': 'lib/node/variables/s3.test.ts',
  'snapshot.s3.access_key': 'lib/node/variables/s3.test.ts',
  'snapshot.s3.secret_key': 'lib/node/variables/s3.test.ts',
  'snapshot.s3.session_token': 'lib/node/variables/s3.test.ts',
  'replica.password': 'lib/node/inventory/replicas.test.ts',
  'replica.use': 'lib/node/inventory/replicas.test.ts',
  'backup.password': 'lib/node/backup/backup.test.ts',
  'backup.keep_days': 'lib/node/backup/backup.test.ts',
  'backup.every_hours': 'lib/node/backup/backup.test.ts',
  'backup.most_kept': 'lib/node/backup/backup.test.ts',
  'backup.drill_hours': 'lib/node/backup/backup.test.ts',
  'backup.copy_to': 'lib/node/backup/copy.test.ts',
  'backup.identity': 'lib/node/backup/copy.test.ts',
  'backup.recipients': 'lib/node/backup/copy.test.ts',
  'backup.s3.endpoint': 'lib/node/variables/s3.test.ts',
  'backup.s3.region': 'lib/node/variables/s3.test.ts',
  'backup.s3.path_style': 'lib/node/variables/s3.test.ts',
  'backup.s3.access_key': 'lib/node/variables/s3.test.ts',
  'backup.s3.secret_key': 'lib/node/variables/s3.test.ts',
  'backup.s3.session_token': 'lib/node/variables/s3.test.ts',
  'monitoring.scrape_from': 'lib/node/monitor/monitor.test.ts',
  'monitoring.clients': 'lib/node/monitor/monitor.test.ts',
  'monitoring.receivers': 'lib/node/monitor/monitor.test.ts',
  'monitoring.retention_days': 'lib/node/monitor/prometheus.ts',
  'monitoring.retention_gb': 'lib/node/monitor/prometheus.ts',
  'monitoring.certificates': 'lib/node/monitor/exporters.ts',
  'monitoring.drift_check.every_minutes': 'lib/node/monitor/drift-check.test.ts',
  'monitoring.drift_check.user': 'lib/node/monitor/drift-check.test.ts',
  'monitoring.objective': 'lib/node/monitor/monitor.test.ts',
  tls: 'lib/node/encryption/clients.test.ts',
};

let unchanged: Promise<Map<string, string>> | undefined;
const base = () => (unchanged ??= everything([]));
let severalUnchanged: Promise<Map<string, string>> | undefined;
const baseOfSeveral = () => (severalUnchanged ??= everything(severalOfLayer1));

beforeAll(() => {
  process.env.OTHER_PASSWORD = 'other-password';
});

test('without a changed variable nothing changes', async () => {
  expect((await base()).size).toBeGreaterThan(300);
  expect(followers(await base(), await everything([]))).toEqual([]);
});

test.each(table)(
  '%s = %j reaches everything that uses it, and nothing else',
  async (variable, value, expected) => {
    const changed = await everything([[['vars', ...variable.split('.')], value]]);
    expect(followers(await base(), changed)).toEqual([...expected].sort());
  },
);

test.each(withSeveral)(
  '%s = %j reaches everything that uses it, where layer 1 has several addresses',
  async (variable, value, expected) => {
    const before = await baseOfSeveral();
    const changed = await everything([...severalOfLayer1, [['vars', ...variable.split('.')], value]]);
    expect(followers(before, changed)).toEqual([...expected].sort());
  },
);

test('the table has every variable of the inventory', async () => {
  const schema = z.toJSONSchema(variablesSchema, { io: 'input' }) as JsonSchema;
  const named = [...[...table, ...withSeveral].map(([variable]) => variable), ...Object.keys(elsewhere)];
  expect([...new Set(named)].sort()).toEqual(variables(schema).sort());
  for (const [variable, file] of Object.entries(elsewhere)) {
    expect(await readFile(new URL(`../${file}`, import.meta.url), 'utf8')).toContain(
      variable.split('.').at(-1),
    );
  }
});

function followers(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => before.get(key) !== after.get(key),
  );
  const withFiles = ['db', 'rpc'].filter((kind) =>
    keys.some((key) => key.startsWith(kind) && !key.includes(' role ')),
  );
  const named = keys.filter((key) => !withFiles.some((kind) => key === `${kind} role configuration`));
  return named
    .filter((key) => !(key.startsWith('rpc ') && named.includes(key.replace('rpc ', 'db '))))
    .map((key) => (named.includes(key.replace('db ', 'rpc ')) && key.startsWith('db ') ? key.slice(3) : key))
    .sort();
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function variables(schema: JsonSchema, path: readonly string[] = []): string[] {
  if (!schema.properties) return [path.join('.')];
  return Object.entries(schema.properties).flatMap(([key, value]) => variables(value, [...path, key]));
}
