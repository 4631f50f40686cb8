import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import type { JsonSchema } from '../../docs/reference/json-schema.ts';
import { schemaText } from '../../docs/reference/reference.ts';
import type { Facts } from '../../lib/engine/host/facts/facts.ts';
import { resolveSshConfig } from '../../lib/engine/host/ssh/resolve-ssh-config.ts';
import type { Inventory } from '../../lib/engine/inventory/inventory.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import type { Role } from '../../lib/engine/resource/role.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { newAuthority, newKey } from '../../lib/node/encryption/openssl.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import { canary, type ShellName, startNamespaceHost } from './namespace-host.ts';
import { takenOrRefused } from './outcome.ts';
import { formsOf, inEveryForm } from './seed.ts';

const payloads = [
  `'"$(${canary})\`${canary}\`;${canary};|${canary}&\n${canary}\n#`,
  `x'"$(${canary})\`${canary}\`;${canary};|${canary}&&${canary}#`,
  `$(${canary})`,
  `;${canary};`,
  `'$(${canary})'`,
  `"$(${canary})"`,
  `a[$(${canary})]`,
  `\`${canary}\``,
  `&${canary}&`,
  `\${IFS};${canary}\${IFS}`,
  `--upload-pack=${canary}`,
  `ext::${canary}`,
  `-oProxyCommand=${canary}`,
  `/../../${canary}`,
  `%n$(${canary})`,
] as const;

const roleNames = readdirSync(new URL('../../roles', import.meta.url))
  .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|^testing\.ts$/.test(file))
  .map((file) => basename(file, '.ts'));

/** An inventory with every field that takes text. */
const full = {
  vars_files: ['vars.yaml'],
  ssh: {
    user: 'root',
    identity_file: 'key',
    known_hosts: 'known',
    jump: 'jump.example',
    become_password: 'file:secret',
  },
  groups: {
    database: {
      'db-1': {
        address: 'db.example',
        user: 'root',
        identity_file: 'key',
        known_hosts: 'known',
        jump: ['a.example'],
        become_password: 'file:secret',
        host_key: 'ssh-ed25519 AAAA',
        region: 'x',
        connection: 'ssh',
        client: 'openssh',
        vars: {},
      },
    },
    rpc: {
      'rpc-1': { address: 'rpc.example' },
      'rpc-2': { address: 'rpc-2.example', vars: { methods: 'heavy' } },
    },
    replica: { 'rep-1': { address: 'rep.example' } },
    gateway: { 'gw-1': { address: 'gw-1.example' }, 'gw-2': { address: 'gw-2.example' } },
    monitor: { 'mon-1': { address: 'mon.example' } },
    backup: { 'bak-1': { address: 'bak.example' } },
  },
  vars: {
    network: {
      kind: 'test',
      region: 'x',
      trusted_sequencer_url: 'http://s.example',
      l1_rpc_url: 'http://l.example',
      chain_id: 1,
      genesis: { url: 'http://g.example/genesis.json', sha256: '0'.repeat(64) },
    },
    images: { node: 'r.example/node', prover: 'r.example/prover', database: 'postgres:15' },
    registry: { address: 'r.example:5000', insecure: true },
    node_binary: '/app/zkevm-node',
    credentials: {
      state: { user: 'state_user', database: 'state_db', password: 'file:secret' },
      pool: { user: 'pool_user', database: 'pool_db', password: 'file:secret' },
      prover: { user: 'prover_user', database: 'prover_db', password: 'file:secret' },
    },
    paths: { deployment: '/opt/rpc-node', data: '/data' },
    state_db: {
      shared_buffers: '1GB',
      work_mem: '1MB',
      wal_buffers: '1MB',
      effective_cache_size: '1GB',
      maintenance_work_mem: '1GB',
      max_wal_size: '1GB',
      min_wal_size: '1GB',
      shm_size: '1gb',
    },
    snapshot: {
      state: { url: 'http://d.example/testnet_state_db.sql.tar.gz', sha256: '1'.repeat(64) },
      prover: { url: 'http://d.example/testnet_prover_db.sql.tar.gz', sha256: '2'.repeat(64) },
      date: '2024-05-01',
      restore_with: 'source',
      source: { repository: 'http://git.example/node.git', ref: 'v3.1.0', go_version: '1.21' },
    },
    node_config: {
      Log: { Environment: 'production', Level: 'info', Outputs: ['stderr'] },
      RPC: { '+New': 'x' },
    },
    prover_config: { '+new': 'x' },
    time_servers: ['t.example'],
    postgresql_repository: 'http://p.example/pgdg',
    docker_root: { disk: '/dev/sdz', format: true },
    container_subnet: '10.213.7.0/24',
    firewall: {
      json_rpc: ['0.0.0.0/0'],
      metrics: ['192.0.2.1'],
      internal: ['192.0.2.0/24'],
      connects_from: ['192.0.2.9'],
    },
    disk_alert: { webhook: 'http://w.example/hook' },
    http_api: ['eth'],
    gateway: {
      rollback: 'none',
      shared: { address: '192.0.2.8/24', interface: 'eth0' },
      tls: {
        acme: {
          email: 'ops@a.example',
          directory: 'https://a.example/directory',
          dns: { rfc2136: { server: '192.0.2.53', name: 'acme.', secret: 'file:tsig' } },
        },
        names: ['rpc.example'],
      },
      trusted: { addresses: ['192.0.2.30'], client_in: 'CF-Connecting-IP' },
      methods: { allow: ['eth_*'], deny: ['debug_*'], heavy: ['trace_*'] },
      fallback: 'file:provider',
    },
    methods: 'usual',
    replica: { password: 'file:secret', use: 'rep-1' },
    monitoring: {
      scrape_from: ['192.0.2.7'],
      clients: ['192.0.2.6'],
      receivers: [
        {
          name: 'ops',
          severity: 'warning',
          configs: { webhook_configs: [{ url: 'http://o.example/hook' }] },
        },
      ],
      certificates: ['/etc/ssl/certs/x.pem'],
      drift_check: { user: 'x' },
    },
    backup: { password: 'file:secret', most_kept: '1GB', drill_hours: 24 },
    hardware: 'advisory',
    region: 'x',
    generation: 'current',
  },
};

const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  type: 'spki',
  format: 'pem',
});
const digest = `@sha256:${'3'.repeat(64)}`;

// Made by age-keygen for this test.
const recipient = 'age1996cm3rwn7mfrgk5yq4zkprasgqdgq8uz0uad64043l4u0hmfpgs6qneul';
const identity = 'AGE-SECRET-KEY-1NG5CLWH6NPN7A4XMMF3P0ZT36EVLCCHHQX4Y5S797NYA9MUG67AQVD5QEU';

/** A storage, of a snapshot and of the copy of backups. */
const s3 = {
  endpoint: 'http://s3.example',
  region: 'eu-1',
  access_key: 'file:secret',
  secret_key: 'file:secret',
  session_token: 'file:secret',
};

/** Variables that are in place of others, with what else they need. */
const alternatives = [
  { network: { l1_rpc_url: undefined, l1_rpc_urls: ['http://l-1.example', 'http://l-2.example'] } },
  {
    images: {
      node: `r.example/node${digest}`,
      prover: `r.example/prover${digest}`,
      database: `postgres${digest}`,
    },
    image_keys: { node: signer, prover: signer, database: signer },
  },
  {
    snapshot: {
      state: { url: 's3://snapshots/testnet_state_db.sql.tar.gz' },
      s3,
    },
  },
  { tls: { ca: 'authority.pem', key: 'file:authority.key' } },
  {
    backup: {
      copy_to: 's3://backups/one',
      s3,
      identity: 'file:identity',
      recipients: [recipient],
    },
  },
].map((vars) => ({ vars }));

/** What each alternative has and the inventory has not. */
const added = alternatives.map((alternative) =>
  texts(alternative).filter(({ path: at }) => !texts(full).some((own) => isSame(own.path, at))),
);

let folder: string;
let path: string | undefined;
let rounds: Change[][];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shell-injection-'));
  writeFileSync(join(folder, 'secret'), 'injection.Pw~1\n', { mode: 0o600 });
  writeFileSync(join(folder, 'identity'), `${identity}\n`, { mode: 0o600 });
  writeFileSync(join(folder, 'tsig'), 'aW5qZWN0aW9u\n', { mode: 0o600 });
  writeFileSync(join(folder, 'provider'), 'https://p.example/v2/KEY\n', { mode: 0o600 });
  writeFileSync(join(folder, 'vars.yaml'), '{ hardware: advisory }\n');
  const key = newKey();
  writeFileSync(join(folder, 'authority.key'), key.reveal(), { mode: 0o600 });
  writeFileSync(join(folder, 'authority.pem'), await newAuthority('one', key));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', canary), `#!/bin/sh\necho ran >> ${folder}/controller-ran\n`);
  chmodSync(join(folder, 'bin', canary), 0o755);
  path = process.env.PATH;
  process.env.PATH = `${join(folder, 'bin')}:${path}`;
  rounds = await acceptedRounds();
});

afterAll(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true, force: true });
});

type Path = readonly (string | number)[];

function isSame(one: Path, other: Path): boolean {
  return one.join('\0') === other.join('\0');
}

/** Every text in the inventory, with its path. */
function texts(value: unknown, at: Path = []): { path: Path; text: string }[] {
  if (typeof value === 'string') return [{ path: at, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    texts(inner, [...at, Array.isArray(value) ? Number(key) : key]),
  );
}

function withValue(changes: readonly (readonly [Path, unknown])[]): string {
  const document = parseDocument(JSON.stringify(full));
  for (const [which, alternative] of alternatives.entries()) {
    const isMeant = changes.some(([at]) => added[which]?.some((own) => isSame(own.path, at)));
    if (!isMeant) continue;
    if ('l1_rpc_urls' in (alternative.vars.network ?? {}))
      document.deleteIn(['vars', 'network', 'l1_rpc_url']);
    for (const { path: at, text } of texts(alternative)) document.setIn(at, text);
  }
  for (const [at, value] of changes) document.setIn(at, value);
  return document.toString({ lineWidth: 0 });
}

async function load(
  changes: readonly (readonly [Path, unknown])[],
): Promise<Inventory<Variables> | undefined> {
  const file = join(folder, 'inventory.yaml');
  writeFileSync(file, withValue(changes));
  return takenOrRefused(() => loadDeployment(file), changes);
}

type Change = readonly [Path, string];

/** How many ways of an injection each field takes: a second one doubles the time. */
const formsOfField = inEveryForm ? 2 : 1;
/** The first round has most fields. */
const mostRounds = inEveryForm ? Number.POSITIVE_INFINITY : 1;

/**
 * Rounds of the same inventory with injected text in as many fields as possible, each field in
 * several ways. Some fields have to agree with each other: they are in different rounds.
 */
async function acceptedRounds(): Promise<Change[][]> {
  const rounds: Change[][] = [];
  for (const { path: at, text } of [...texts(full), ...added.flat()]) {
    const forms = formsOf(payloads, 3).flatMap((payload) => [
      payload,
      /^http/.test(text) ? `${text}/${payload}` : `${text}${payload}`,
    ]);
    let taken = 0;
    for (const form of forms) {
      if (taken === formsOfField || !(await load([[at, form]]))) continue;
      taken += 1;
      await addTo(rounds, [at, form]);
    }
  }
  return rounds;
}

/** Adds a change to the first round that it fits in, if there is one. */
async function addTo(rounds: Change[][], change: Change): Promise<void> {
  for (const round of rounds) {
    if (round.some(([at]) => isSame(at, change[0])) || !(await load([...round, change]))) continue;
    round.push(change);
    return;
  }
  if (rounds.length < mostRounds) rounds.push([change]);
}

/** Of a mount of a whole file system. */
const whole = { root: '/', number: '254:1', saysDataLoss: false };

const facts: Facts = {
  distribution: { id: 'debian', version: '12', codename: 'bookworm', title: 'Debian 12' },
  architecture: 'x86_64',
  kernel: '6.1',
  cpu: { count: 64, mhz: 3100, model: 'x', flags: ['avx2', 'bmi2', 'adx'] },
  memory: 256e9,
  mounts: [
    {
      target: '/',
      source: '/dev/vda1',
      type: 'ext4',
      options: ['rw'],
      size: 1e12,
      available: 9e11,
      ...whole,
    },
  ],
  blockDevices: [
    {
      path: '/dev/vda1',
      size: 1e12,
      type: 'disk',
      rotational: false,
      transport: 'nvme',
      signature: 'ext4',
      mountpoints: ['/'],
      parents: [],
      number: '254:1',
      model: '',
      uuid: '',
      label: '',
      removable: false,
      sysfs: '',
      links: [],
      backingFile: undefined,
    },
  ],
  fstab: [],
  vendor: '',
  systemd: true,
  container: undefined,
  clockOffset: 0,
  hostname: 'h',
};

const hostile = `$(${canary})`;

/** Facts of a host that try to inject a command. */
const hostileFacts: Facts = {
  ...facts,
  distribution: { id: hostile, version: hostile, codename: hostile, title: hostile },
  architecture: hostile,
  kernel: hostile,
  cpu: { ...facts.cpu, model: hostile },
  mounts: [
    ...facts.mounts,
    {
      target: `/mnt/${hostile}';${canary};'`,
      source: `/dev/${hostile}`,
      type: 'ext4',
      options: ['rw'],
      size: 2e12,
      available: 2e12,
      ...whole,
      root: hostile,
    },
  ],
  fstab: [{ source: hostile, target: `/mnt/${hostile}`, type: hostile, options: [hostile] }],
  vendor: hostile,
  container: hostile,
  hostname: hostile,
};

async function resourcesOf(
  inventory: Inventory<Variables>,
  name: string,
  of: Facts,
): Promise<readonly Resource[]> {
  const host = inventory.hosts.find((each) => each.name === name);
  if (!host) throw new Error(`no host ${name}`);
  const all = await Promise.all(
    roleNames.map(async (roleName) => {
      const { default: role } = (await import(`../../roles/${roleName}.ts`)) as { default: Role<Variables> };
      // A component that does not belong on this host.
      return Promise.resolve()
        .then(() =>
          role.resources({
            host,
            vars: host.vars,
            facts: of,
            hosts: inventory.hosts,
            includes: () => true,
            given,
          }),
        )
        .catch(() => []);
    }),
  );
  return all.flat();
}

/** Options of playbooks that have their own. */
const given = { to: '/data/s', 'to-time': 'latest', 'set-aside': '' };

const unproblematic = (work: Promise<unknown>) => work.catch(() => undefined);

describe('shell injection', () => {
  test('the inventory of these tests has every text field of the schema', () => {
    const { definitions } = JSON.parse(schemaText());
    const found = new Set(
      [...texts(full), ...added.flat()].map(({ path: at }) =>
        at.filter((step) => typeof step === 'string').join('.'),
      ),
    );
    const fields = (schema: JsonSchema, at: string): string[] => {
      // Files of a certificate and manifests are read on the controller, without a shell; a
      // manifest is in place of the archives.
      if (/\.(node_config|prover_config|gateway\.tls|snapshot\.(manifest|from))$/.test(at)) return [];
      const { properties, items, anyOf } = schema as {
        properties?: Record<string, JsonSchema>;
        items?: JsonSchema;
        anyOf?: JsonSchema[];
      };
      if (properties)
        return Object.entries(properties).flatMap(([key, inner]) => fields(inner, `${at}.${key}`));
      if (items) return fields(items, at);
      if (anyOf) return anyOf.flatMap((each) => fields(each, at));
      return (schema as { type?: string }).type === 'string' ? [at] : [];
    };
    const wanted = [
      ...fields(definitions.variables, 'vars'),
      ...fields(definitions.host, 'groups.database.db-1').filter((field) => !/\.vars\b/.test(field)),
    ];
    expect(wanted.length).toBeGreaterThan(40);
    expect(wanted.filter((field) => !found.has(field))).toEqual([]);
  });

  test.each<ShellName>(inEveryForm ? ['dash', 'bash', 'busybox'] : ['dash'])(
    'a command in every text field: it never runs on a host whose sh is %s, nor on the controller',
    { timeout: 1_500_000 },
    async (shell) => {
      const host = startNamespaceHost(shell);
      try {
        // The canary works: otherwise a host that runs nothing would pass.
        await host.writer.run`eval ${canary}`;
        expect(host.canaryRuns()).toMatch(/^ran by .*eval/);
        await host.writer.run`rm /canary-ran`;

        expect(rounds.flat().length).toBeGreaterThanOrEqual(20);
        for (const [at, changes] of rounds.entries()) {
          const inventory = await load(changes);
          if (!inventory) throw new Error('what was taken is not taken any more');
          const applied = new Set<string>();
          for (const { name, connection } of inventory.hosts) {
            await unproblematic(resolveSshConfig(name, connection.address, connection));
            // Of the other hosts only some roles differ, and of the second of a kind none.
            if (name !== 'db-1' && (at > 0 || (!inEveryForm && /[^1]$/.test(name)))) continue;
            for (const resource of await resourcesOf(inventory, name, at === 0 ? hostileFacts : facts)) {
              // Most hosts have the same ones.
              if (!inEveryForm && applied.has(resource.name)) continue;
              applied.add(resource.name);
              await unproblematic(applyDrift(host.writer, resource));
            }
            expect(host.canaryRuns(), `${name}\n${JSON.stringify(changes)}`).toBe('');
          }
        }
        expect(existsSync(join(folder, 'controller-ran'))).toBe(false);
      } finally {
        host.stop();
      }
    },
  );
});
