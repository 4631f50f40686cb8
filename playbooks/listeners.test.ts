import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Writer } from '../lib/engine/host/host.ts';
import type { Resource } from '../lib/engine/resource/resource.ts';
import type { Role } from '../lib/engine/resource/role.ts';
import { fakeHost, stoppedUnit } from '../lib/engine/resource/testing/fake-host.ts';
import { accesses } from '../lib/node/server/firewall.ts';
import { serverRoles } from '../lib/node/server/server-roles.ts';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { contextOf } from '../lib/node/testing/role-context.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

// Every port on which a host of the deployment listens, from the files and packages that the plays
// of playbooks/deploy.mjs put there. Each has to be named by the firewall, which comes before it,
// and the program that listens does not start without the rules.

process.env.LISTENERS_PASSWORD = 'listeners.Pw~5';
const password = 'env:LISTENERS_PASSWORD';
const acme = { acme: { email: 'ops@example.org' }, names: ['rpc.example.org'] };
const changes: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.41' } }],
  [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.51' }, 'gw-2': { address: '10.0.0.52' } }],
  [['groups', 'monitor'], { 'mon-1': { address: '10.0.0.61' } }],
  [['vars', 'replica'], { password }],
  [['vars', 'backup'], { password }],
  [['vars', 'gateway'], { shared: { address: '10.0.0.50/24', interface: 'eth0' }, tls: acme }],
];

const mounts = [
  {
    target: '/',
    source: '/dev/vda1',
    root: '/',
    number: '254:1',
    saysDataLoss: false,
    type: 'ext4',
    options: ['rw'],
    size: 9e11,
    available: 8e11,
  },
];

/** A port, or a protocol without ports. */
type Listener = string;

interface Made {
  readonly role: string;
  readonly listener: Listener;
  /** The unit of the program. */
  readonly unit: string;
}

/**
 * What the packages of a deployment listen on as they are installed, by unit. Look it up for a new
 * package: `ss -lntup` after its installation.
 */
const packaged: Readonly<Record<string, Readonly<Record<string, readonly Listener[]>>>> = {
  keepalived: { 'keepalived.service': ['vrrp'] },
  prometheus: { 'prometheus.service': ['9090'] },
  'prometheus-alertmanager': { 'prometheus-alertmanager.service': ['9093', '9094', '9094/udp'] },
  'prometheus-blackbox-exporter': { 'prometheus-blackbox-exporter.service': ['9115'] },
  'prometheus-node-exporter': { 'prometheus-node-exporter.service': ['9100'] },
  'prometheus-postgres-exporter': { 'prometheus-postgres-exporter.service': ['9187'] },
};

/** These do not listen, or on the loopback interface alone, as chronyd does on port 323. */
const silent = [
  ...[
    'apt-utils',
    'barman',
    'ca-certificates',
    'certbot',
    'chrony',
    'cron',
    'curl',
    'docker-compose',
    'docker.io',
  ],
  ...['haproxy', 'iptables', 'openssl', 'postgresql-client-15', 'socat', 'tar', 'zstd'],
  ...['git', 'golang-go', 'make'],
];

/** The roles that the plays make for a host of a group, in their order. */
function rolesFor(group: string): string[] {
  const text = readFileSync(new URL('deploy.mjs', import.meta.url), 'utf8');
  const plays = text.slice(text.indexOf('await runPlaybook('));
  const found = [
    ...plays.matchAll(/play\('[^']+', \{\s*hosts: '([^']+)',[\s\S]*?roles: await roles\(([^)]*)\)/g),
  ];
  expect(found.length).toBe([...plays.matchAll(/\bplay\('/g)].length);
  return found.flatMap(([, hosts = '', names = '']) => {
    if (!['all', group].some((name) => hosts.split(',').includes(name))) return [];
    return (
      names.replace('...serverRoles', serverRoles.map((name) => `'${name}'`).join()).match(/[\w-]+(?=')/g) ??
      []
    );
  });
}

/** A host with a Docker engine, and without anything else. */
const bare = (): Writer =>
  fakeHost([[/^(command -v dpkg-query|ip6?tables|\[ -e)/, '']], {
    unit: async (name) => ({ ...stoppedUnit, active: name === 'docker.service' ? 'active' : 'inactive' }),
  });

/** The files and packages of a resource: path and text, or the name of a package. */
async function madeBy(
  resource: Resource,
): Promise<{ files: (readonly [string, string])[]; packages: string[] }> {
  const verdict = await resource.check(bare()).catch(() => undefined);
  const steps = verdict?.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  return {
    files: steps.flatMap((step) => (step.do === 'write' ? [[step.path, String(step.content)] as const] : [])),
    packages: /^packages (?!of )(.*)$/.exec(resource.name)?.[1]?.split(/, | /) ?? [],
  };
}

function listenersIn(path: string, text: string): { unit: string; listener: Listener }[] {
  const numbers = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, port = '']) => port);
  const all = (unit: string, ports: readonly string[]) =>
    [...new Set(ports)].map((listener) => ({ unit, listener }));
  if (path.endsWith('/docker-compose.yml')) return all('docker.service', numbers(/^ +- "?(\d+):\d+"?$/gm));
  if (path.endsWith('/haproxy.cfg')) return all('haproxy.service', numbers(/^ +bind (?!127\.)\S*:(\d+)/gm));
  if (path.endsWith('/keepalived.conf'))
    return all('keepalived.service', /vrrp_instance/.test(text) ? ['vrrp'] : []);
  const unit = /\/([^/]+\.service)(?:\.d\/[^/]+)?$/.exec(path)?.[1] ?? path;
  return all(
    unit,
    numbers(/(?:listen-address|ListenStream|--port|--listen)=(?!127\.|localhost)\S*?:?(\d+)/g),
  );
}

async function everything(group: 'database' | 'rpc' | 'replica' | 'monitor' | 'gateway' | 'backup') {
  const context = await contextOf({ changes, group, facts: { mounts } });
  const made: Made[] = [];
  const installed = new Set<string>();
  const written: (readonly [string, string])[] = [];
  const order = rolesFor(group);
  for (const role of new Set(order)) {
    const { default: found }: { default: Role<Variables> } = await import(`../roles/${role}.ts`);
    for (const resource of await found.resources(context)) {
      const { files, packages } = await madeBy(resource);
      written.push(...files);
      for (const name of packages) installed.add(name);
      const ofPackages = packages.flatMap((name) =>
        Object.entries(packaged[name] ?? {}).flatMap(([unit, listeners]) =>
          listeners.map((listener) => ({ unit, listener })),
        ),
      );
      const listeners = [...files.flatMap(([path, text]) => listenersIn(path, text)), ...ofPackages];
      made.push(...listeners.map((each) => ({ role, ...each })));
    }
  }
  return { context, made, installed, written: new Map(written), order };
}

const publicPorts = { rpc: [], gateway: ['8123', '8133', '80'] } as Readonly<
  Record<string, readonly string[]>
>;

test.each([
  ['database', ['5432', '5433', '50061', '50071', '9091', '9100', '9187']],
  ['rpc', ['5433', '50061', '50071', '8123', '8133', '9092', '9100']],
  ['replica', ['5432', '9100']],
  ['backup', ['9100']],
  ['gateway', ['8123', '8133', '80', '8143', '9101', 'vrrp', '9100']],
  ['monitor', ['9090', '9093', '9094', '9094/udp', '9100', '9115']],
] as const)('every listener of group %s has a rule, which is there before it', async (group, expected) => {
  const { context, made, written, order } = await everything(group);
  // What is found is all that there is: a listener that this test does not see would have no rule.
  expect([...new Set(made.map(({ listener }) => listener))].sort()).toEqual([...expected].sort());

  const named = (await accesses(context)).flatMap(({ ports, protocols = [], sources }) =>
    [
      ...ports.map(({ published, protocol }) =>
        protocol === 'tcp' ? published : `${published}/${protocol}`,
      ),
      ...protocols.map((number) => (number === 112 ? 'vrrp' : String(number))),
    ].map((listener) => ({ listener, isPublic: sources.includes('0.0.0.0/0') })),
  );
  for (const { role, listener, unit } of made) {
    const access = named.find((each) => each.listener === listener);
    expect(
      access,
      `${listener} of role ${role} is not named by accesses() in lib/node/server/firewall.ts`,
    ).toBeDefined();
    expect(access?.isPublic, `${listener} is public`).toBe(publicPorts[group]?.includes(listener) ?? false);
    expect(order.indexOf('firewall'), `role firewall is before ${role}`).toBeGreaterThanOrEqual(0);
    expect(order.indexOf('firewall'), `role firewall is before ${role}`).toBeLessThan(order.indexOf(role));
    const start = written.get(`/etc/systemd/system/${unit}.d/rpc-node-firewall.conf`);
    expect(start, `${unit} starts without the rules: see listeningUnits()`).toContain('ExecStartPre=+');
    const [port, protocol = 'tcp'] = listener.split('/');
    const rule = listener === 'vrrp' ? '-p 112 ' : `-p ${protocol} -m conntrack --ctorigdstport ${port} `;
    for (const family of ['v4', 'v6']) {
      const rules = written.get(`/etc/rpc-node/firewall.${family}`) ?? '';
      expect(rules.includes(`-A RPC-PLAYBOOKS-INPUT ${rule}`), `${listener} in ${family}`).toBe(
        !access?.isPublic,
      );
    }
  }
});

test.each(['database', 'rpc', 'replica', 'backup', 'gateway', 'monitor'] as const)(
  'it is known on what each package of group %s listens',
  async (group) => {
    const { installed } = await everything(group);
    expect(installed.size).toBeGreaterThan(1);
    expect([...installed].filter((name) => !(name in packaged) && !silent.includes(name))).toEqual([]);
  },
);
