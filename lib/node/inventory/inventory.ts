import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import { type LoadedInventory, type LoadOptions, loadInventory } from '../../engine/inventory/load.ts';
import type { Path } from '../../engine/inventory/located.ts';
import { problemsIn, throwProblems } from '../../engine/inventory/problem-list.ts';
import { secretReferencePattern } from '../../engine/inventory/secret-reference.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { generationDefaults } from '../variables/generation.ts';
import { isMonitor, type Receiver } from '../variables/monitoring.ts';
import type { Certificate, RawVariables, SnapshotFiles, Variables } from '../variables/variables.ts';
import { variablesSchema } from '../variables/variables.ts';
import { deploymentProblems, differing } from './checks.ts';
import { gatewayProblems, readCertificate } from './gateway.ts';
import { snapshotFiles } from './manifest.ts';
import { projectInventories } from './project.ts';

/** Of a password. Fewer can be guessed (NIST SP 800-63B, 5.1.1.2). */
const leastCharacters = 8;

/** The databases of a deployment, by their keys under `credentials`. */
export const stores = ['state', 'pool', 'prover'] as const;

/** Passwords go unescaped into a connection URL, and into TOML, JSON, YAML and SQL: these characters are safe in all of them. */
export const passwordCharacters = {
  pattern: /^[A-Za-z0-9_.~-]+$/,
  reason: 'only A-Z a-z 0-9 _ . ~ - are safe, for the node and the prover put it unescaped into a connection URL',
};

/**
 * Reads the inventory of one deployment: one Database+Sync server (group `database`), one or more RPC servers (group `rpc`), gateways
 * (group `gateway`) if there are any, and all passwords and certificates.
 *
 * @throws Problem or Problems with everything that is wrong, each with its place; no host has been touched
 */
export async function loadDeployment(nameOrFile: string, options: LoadOptions = {}): Promise<Inventory<Variables>> {
  const inventory = await loadInventory(nameOrFile, variablesSchema, { ...projectInventories, ...options });
  const problems = [...deploymentProblems(inventory), ...gatewayProblems(inventory)];
  const read = inventory.hosts.map(async (host) => [host, await readPasswords(inventory, host, problems)] as const);
  const passwords = new Map(await Promise.all(read));
  const receivers = await Promise.all(inventory.hosts.map((host) => readReceivers(inventory, host, problems)));
  for (const store of ['state', 'prover'] as const) {
    const path = ['credentials', store, 'password'];
    problems.push(...differing(inventory, path, (host) => passwords.get(host)?.[store]?.reveal()));
  }
  const certificates = new Map<unknown, Certificate | undefined>();
  for (const host of inventory.hosts) certificates.set(host, await readCertificate(inventory, host, problems));
  const backup = await backupPassword(inventory, problems);
  const snapshots = await snapshotFiles(inventory, problems);
  throwProblems(problems);
  const hosts = inventory.hosts.map((host, i) =>
    withSecrets(
      host,
      passwords.get(host) as Passwords,
      receivers[i] ?? [],
      certificates.get(host),
      snapshots[i],
      backup,
    ),
  );
  return { name: inventory.name, file: inventory.file, hosts };
}

type Passwords = Readonly<Record<(typeof stores)[number], Secret>>;

/** The passwords that could be read. Adds to the problems. */
async function readPasswords(
  inventory: LoadedInventory<RawVariables>,
  { name, vars }: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<Partial<Passwords>> {
  const read = stores.map(async (store) => {
    const path = ['credentials', store, 'password'];
    const allowed = { ...passwordCharacters, least: leastCharacters };
    const question = { name: path.join('.'), where: inventory.placeOf(name, path), allowed };
    const reading = inventory.readSecret(vars.credentials[store].password, question);
    return [store, await reading.catch((error) => void problems.push(...problemsIn(error)))] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

/** The password of the role that copies the server: one for all hosts, that of the backup host. None without such a host. */
async function backupPassword(inventory: LoadedInventory<RawVariables>, problems: Problem[]) {
  const host = inventory.hosts.find(({ groups }) => groups.includes('backup'));
  if (!host) return undefined;
  const path = ['backup', 'password'];
  const where = inventory.placeOf(host.name, path);
  const { password } = host.vars.backup;
  if (password === undefined) {
    const hint = 'name where it is, such as secret:backup_password; it belongs to that role alone';
    problems.push(
      new Problem('backup.password is missing, and the inventory has a host in group backup', { where, hint }),
    );
    return undefined;
  }
  const allowed = { ...passwordCharacters, least: leastCharacters };
  const reading = inventory.readSecret(password, { name: path.join('.'), where, allowed });
  return reading.catch((error) => void problems.push(...problemsIn(error)));
}

function withSecrets(
  host: InventoryHost<RawVariables>,
  passwords: Passwords,
  receivers: readonly Receiver[],
  certificate: Certificate | undefined,
  files: SnapshotFiles | undefined,
  backupSecret: Secret | undefined,
): InventoryHost<Variables> {
  const { state, pool, prover } = host.vars.credentials;
  const credentials = {
    state: { ...state, password: passwords.state },
    pool: { ...pool, password: passwords.pool },
    prover: { ...prover, password: passwords.prover },
  };
  const monitoring = { ...host.vars.monitoring, receivers: [...receivers] };
  const { tls, ...plain } = host.vars.gateway;
  const gateway = { ...plain, ...(certificate && { tls: certificate }) };
  const { snapshot, ...defaults } = generationDefaults(host.vars);
  const { password: _, ...rest } = host.vars.backup;
  const backup = { ...rest, ...(backupSecret && { password: backupSecret }) };
  const vars = { ...host.vars, ...defaults, credentials, monitoring, gateway, backup };
  return { ...host, vars: { ...vars, snapshot: { ...snapshot, ...(files as SnapshotFiles) } } };
}

/**
 * The receivers of alerts with their secrets, for the monitor; for other hosts none, as nothing of them is needed there. Adds to the
 * problems what could not be read.
 */
async function readReceivers(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<readonly Receiver[]> {
  if (!isMonitor(host)) return [];
  const read = async (tree: unknown, path: Path): Promise<unknown> => {
    if (Array.isArray(tree)) return Promise.all(tree.map((item, i) => read(item, [...path, i])));
    if (typeof tree === 'object' && tree !== null) {
      const entries = Object.entries(tree).map(
        async ([key, value]) => [key, await read(value, [...path, key])] as const,
      );
      return Object.fromEntries(await Promise.all(entries));
    }
    if (typeof tree !== 'string' || !secretReferencePattern.test(tree)) return tree;
    const question = { name: path.join('.'), where: inventory.placeOf(host.name, path) };
    return inventory.readSecret(tree, question).catch((error) => void problems.push(...problemsIn(error)));
  };
  return (await read(host.vars.monitoring.receivers, ['monitoring', 'receivers'])) as readonly Receiver[];
}
