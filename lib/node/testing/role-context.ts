import type { Facts } from '../../engine/host/facts/facts.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../../engine/resource/testing/test-host.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import type { Variables } from '../variables/variables.ts';
import { type Changes, labDeployment } from './lab-deployment.ts';

/** A host that meets all requirements. */
export const sound: Facts = {
  distribution: {
    id: 'debian',
    version: '12',
    codename: 'bookworm',
    title: 'Debian GNU/Linux 12 (bookworm)',
  },
  architecture: 'x86_64',
  kernel: '6.1',
  cpu: { count: 64, mhz: 3400, model: 'AMD EPYC', flags: ['avx2', 'bmi2', 'adx'] },
  memory: 512e9,
  mounts: [],
  blockDevices: [],
  fstab: [],
  vendor: '',
  systemd: true,
  container: undefined,
  clockOffset: 0,
  hostname: 'h',
};

/** Differences from the lab's deployment on sound hosts. */
export interface Given {
  readonly changes?: Changes;
  /** A chain that the test itself serves on this machine, of which the inventory would warn. */
  readonly network?: Partial<Variables['network']>;
  readonly facts?: Partial<Facts>;
  readonly group?: 'database' | 'rpc' | 'replica' | 'monitor' | 'gateway' | 'backup';
  readonly hosts?: (hosts: Context<Variables>['hosts']) => Context<Variables>['hosts'];
  readonly includes?: Context<Variables>['includes'];
}

/** The context of a role for the first host of a group. */
export async function contextOf({
  changes = [],
  network = {},
  facts = {},
  group = 'database',
  hosts = (given) => given,
  includes = () => true,
}: Given) {
  const inventory = await loadOnce(changes);
  const all = inventory.hosts.map((each) => ({
    ...each,
    vars: { ...each.vars, network: { ...each.vars.network, ...network } },
  }));
  const host = all.find(({ groups }) => groups.includes(group));
  if (!host) throw new Error(`no host in ${group}`);
  return {
    host,
    vars: host.vars,
    facts: { ...sound, ...facts },
    hosts: hosts(all),
    includes,
    given: {},
  };
}

const loaded = new Map<string, ReturnType<typeof loadDeployment>>();

/**
 * Most tests are about the same few inventories, and loading one takes longer than what is tested.
 */
function loadOnce(changes: Changes) {
  const key = JSON.stringify(changes);
  const known = loaded.get(key) ?? labDeployment(changes).then((file) => loadDeployment(file));
  loaded.set(key, known);
  return known;
}

/** Message and hint of a requirement that is not met. */
export async function refusal(resources: readonly Resource[], name: string, host: TestHost = fakeHost([])) {
  const resource = resources.find((each) => each.name === name);
  if (!resource) throw new Error(`there is no resource ${name}`);
  const failed: unknown = await applyDrift(host, resource).then(
    () => 'it is met',
    (error: unknown) => error,
  );
  const { message, hint } = failed as { message: string; hint: string | undefined };
  return [message, hint];
}
