import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Output } from '../lib/engine/host/output.ts';
import { shell } from '../lib/engine/host/shell.ts';
import type { Step } from '../lib/engine/host/step.ts';
import { aMount } from '../lib/engine/host/testing/disk-facts.ts';
import type { Resource, Verdict } from '../lib/engine/resource/resource.ts';
import type { Role } from '../lib/engine/resource/role.ts';
import { fakeHost, stoppedUnit } from '../lib/engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../lib/engine/resource/testing/test-host.ts';
import { Secret } from '../lib/engine/secret/secret.ts';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { startingFromFiles } from '../lib/node/testing/physical-manifest.ts';
import { contextOf, type Given } from '../lib/node/testing/role-context.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * A host with a Docker engine and nothing else, and everything that is sent to it to change it.
 */
function recordingHost(): { readonly host: TestHost; readonly sent: unknown[] } {
  const sent: unknown[] = [];
  const host = fakeHost([[/^command -v dpkg-query/, '']], {
    unit: async (name) => ({ ...stoppedUnit, active: name === 'docker.service' ? 'active' : 'inactive' }),
    run: shell(async (command, { stdin, timeoutSeconds, allow }) => {
      sent.push({ do: 'run', command, stdin, timeoutSeconds, allow });
      return new Output(0, Buffer.alloc(0), '');
    }),
    place: (step) => sent.push(bytesOf(step)),
  });
  return { host, sent };
}

process.env.PLAN_PASSWORD = 'plan.Pw~5';
const password = 'env:PLAN_PASSWORD';
const acme = { acme: { email: 'ops@example.org' }, names: ['rpc.example.org'] };
/** A deployment with a host of every group. */
const changes: Changes = [
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.31' } }],
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.41' } }],
  [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.51' }, 'gw-2': { address: '10.0.0.52' } }],
  [['groups', 'monitor'], { 'mon-1': { address: '10.0.0.61' } }],
  [['vars', 'replica'], { password }],
  [['vars', 'backup'], { password, drill_hours: 24 }],
  [['vars', 'gateway'], { shared: { address: '10.0.0.50/24', interface: 'eth0' }, tls: acme }],
];

const severalOfLayer1: Changes = [
  [['vars', 'network', 'l1_rpc_url'], undefined],
  [
    ['vars', 'network', 'l1_rpc_urls'],
    ['http://l1.example/KEY', 'http://l1.example.org/KEY'],
  ],
];

type Group = NonNullable<Given['group']>;

/** The groups of roles that not all servers of the node have. */
const groupsOf: Readonly<Record<string, readonly Group[]>> = {
  backup: ['backup'],
  'backup-source': ['database'],
  'certificate-authority': ['rpc', 'replica', 'backup'],
  'container-network': ['database', 'rpc', 'replica'],
  'database-reachable': ['rpc'],
  drained: ['gateway'],
  encryption: ['database', 'replica'],
  exporters: ['database', 'rpc', 'replica', 'gateway', 'monitor', 'backup'],
  firewall: ['database', 'rpc', 'replica', 'gateway', 'monitor', 'backup'],
  gateway: ['gateway'],
  'gateway-address': ['gateway'],
  'gateway-certificate': ['gateway'],
  'gateway-preflight': ['gateway'],
  'gateway-without': ['gateway'],
  'json-rpc': ['rpc'],
  layer1: ['database', 'replica'],
  monitor: ['monitor'],
  'physical-snapshot': ['database'],
  preflight: ['database', 'rpc', 'replica'],
  recovery: ['database', 'backup'],
  'recovery-data': ['database', 'backup'],
  'recovery-end': ['database', 'backup'],
  'recovery-target': ['database'],
  removed: ['rpc'],
  replica: ['replica'],
  'replica-firewall': ['replica'],
  'replica-source': ['database'],
  rewind: ['database', 'rpc', 'replica'],
  snapshot: ['database'],
  'state-db': ['database'],
  'switch-from': ['replica'],
  'switch-to': ['database'],
  'second-logins': ['database'],
  sync: ['database'],
  'take-snapshot': ['database'],
  verify: ['rpc'],
};

/** The options of the playbooks that have these roles. */
const givenTo: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  drained: { host: 'rpc-1' },
  'gateway-without': { host: 'rpc-1' },
  recovery: { 'to-time': 'latest' },
  'recovery-data': { 'to-time': 'latest' },
  'recovery-end': { 'to-time': 'latest' },
  'recovery-target': { 'to-time': 'latest' },
  restarted: { component: 'prover' },
  'switch-from': { to: 'db-1' },
  'switch-to': { to: 'db-1' },
  'take-snapshot': { to: '/data/s' },
};

/** The roles that have nothing without encryption between hosts. */
const onlyEncrypted = ['certificate-authority', 'encryption'];
const authority = { certificate: 'own', trusted: 'own and former', key: new Secret('authority.Pw~1') };

const roleNames = readdirSync(new URL('../roles', import.meta.url))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.ts'.length));

const mounts = [aMount('/', { source: '/dev/vda1', size: 9e11 })];

/** Passwords that are being changed: only then some roles have resources. */
function inRotation(vars: Variables): Variables {
  const former = new Secret('former.Pw~5');
  const rotated = <T extends { readonly password: Secret }>(each: T) => ({
    ...each,
    password: new Secret(each.password.reveal(), former),
  });
  const { state, pool, prover } = vars.credentials;
  return {
    ...vars,
    credentials: { state: rotated(state), pool: rotated(pool), prover: rotated(prover) },
  };
}

/** New resources of a role, on each group of hosts that has it. */
async function resourcesOf(name: string): Promise<Resource[]> {
  const role: Role<Variables> = (await import(`../roles/${name}.ts`)).default;
  const onGroup = async (group: Group) => {
    const own = name === 'layer1' ? [...changes, ...severalOfLayer1] : changes;
    const context = await contextOf({ group, changes: own, facts: { mounts } });
    const plain = name === 'physical-snapshot' ? startingFromFiles(context.vars) : inRotation(context.vars);
    const vars = onlyEncrypted.includes(name) ? { ...plain, tls: authority } : plain;
    return role.resources({ ...context, vars, given: givenTo[name] ?? {} });
  };
  return (await Promise.all((groupsOf[name] ?? ['database', 'rpc']).map(onGroup))).flat();
}

/** New resources of every role. */
async function resourcesOfAllRoles(): Promise<Resource[]> {
  const all: Resource[] = [];
  for (const name of roleNames) all.push(...(await resourcesOf(name)));
  return all;
}

const checked = (resource: Resource): Promise<Verdict | string> =>
  resource.check(recordingHost().host).catch((error: Error) => error.message);

/** Everything that a change sends, and how it ended. */
async function changed(resource: Resource): Promise<unknown[]> {
  const { host, sent } = recordingHost();
  const ended = await applyDrift(host, resource).catch((error: Error) => error.message);
  return [...sent, ended];
}

/** What a step sends to a host. */
function bytesOf(step: Step): unknown {
  if (step.do === 'run') {
    const { command, stdin, timeoutSeconds, allow } = step;
    return { do: 'run', command, stdin, timeoutSeconds, allow };
  }
  if (step.do !== 'write') return step;
  const { path, content, attributes } = step;
  return { do: 'write', path, content, attributes };
}

// Otherwise each byte is compared by itself.
expect.addEqualityTesters([
  (one, other) => (Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : undefined),
]);

test('every role makes resources here', async () => {
  const empty: string[] = [];
  for (const name of roleNames) if ((await resourcesOf(name)).length === 0) empty.push(name);
  expect(empty).toEqual([]);
});

test('two previews of every resource change nothing of what the change sends, and that is the steps of the plan', async () => {
  const previewed = await resourcesOfAllRoles();
  const untouched = await resourcesOfAllRoles();
  let planned = 0;
  for (const [at, resource] of previewed.entries()) {
    const other = untouched[at];
    if (!other) throw new Error('the roles made fewer resources');
    const first = await checked(resource);
    expect(await checked(resource), resource.name).toEqual(first);
    const sent = await changed(resource);
    expect(sent, resource.name).toEqual(await changed(other));
    if (typeof first === 'string' || first.is !== 'drift' || !Array.isArray(first.change)) continue;
    expect(sent.slice(0, first.change.length), resource.name).toEqual(first.change.map(bytesOf));
    if (!resource.work) expect(sent.slice(first.change.length), resource.name).toEqual([undefined]);
    planned += 1;
  }
  expect(planned).toBeGreaterThan(30);
});
