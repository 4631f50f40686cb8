import type { InventoryHost, SourcedInventory } from '../../engine/inventory/inventory.ts';
import { type LoadedInventory, type LoadOptions, loadInventory } from '../../engine/inventory/load.ts';
import type { Path } from '../../engine/inventory/located.ts';
import { problemsIn, throwProblems } from '../../engine/inventory/problem-list.ts';
import { readSecretText } from '../../engine/inventory/secrets-in-values.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { generationDefaults } from '../variables/generation-defaults.ts';
import { groups } from '../variables/groups.ts';
import { keepsReference } from '../variables/kept-references.ts';
import { isMonitor } from '../variables/monitoring.ts';
import type { Receiver } from '../variables/monitoring-schema.ts';
import type {
  AcmeCertificate,
  ApiKey,
  Authority,
  BackupCopy,
  Certificate,
  RawVariables,
  SnapshotFiles,
  Variables,
} from '../variables/variables.ts';
import { variablesSchema } from '../variables/variables.ts';
import { readKeys } from './api-keys.ts';
import { readBackupCopy } from './backup-copy.ts';
import { chainsAtLoopback } from './chain-addresses.ts';
import { deploymentProblems, differing } from './checks.ts';
import { plainTextWarnings, readAuthority } from './encryption.ts';
import { readFallback } from './fallback.ts';
import { filesFromElsewhere } from './files-from-elsewhere.ts';
import { readCertificate } from './gateway.ts';
import { snapshotFiles } from './manifest.ts';
import { eachOnce, openWays } from './open-ways.ts';
import { projectInventories } from './project.ts';

/** Of a password. Fewer can be guessed (NIST SP 800-63B, 5.1.1.2). */
const leastCharacters = 8;

/** The databases of a deployment, by their keys under `credentials`. */
export const stores = ['state', 'pool', 'prover'] as const;

/**
 * Passwords go unescaped into a connection URL, and into TOML, JSON, YAML and SQL: these
 * characters are safe in all of them.
 */
export const passwordCharacters = {
  pattern: /^[A-Za-z0-9_.~-]+$/,
  reason:
    'only A-Z a-z 0-9 _ . ~ - are safe, for the node and the prover put it unescaped into a connection URL',
};

/**
 * Reads the inventory of one deployment: one Database+Sync server (group `database`), one or more
 * RPC servers (group `rpc`), gateways (group `gateway`) if there are any, and all passwords and
 * certificates.
 *
 * @throws Problem or Problems with everything that is wrong, each with its place; no host has been
 * touched
 */
export async function loadDeployment(
  nameOrFile: string,
  options: LoadOptions = {},
): Promise<SourcedInventory<Variables>> {
  const problems: Problem[] = [];
  const how = {
    ...projectInventories,
    ...options,
    unreadable: problems,
    keepsReferences: keepsReference,
  };
  const inventory = byPurpose(await loadInventory(nameOrFile, variablesSchema, how));
  problems.push(...deploymentProblems(inventory), ...filesFromElsewhere(inventory));
  const backup = await groupPassword(inventory, 'backup', problems);
  const replica = await groupPassword(inventory, 'replica', problems);
  const snapshots = await snapshotFiles(inventory, problems);
  const reading = inventory.hosts.map(async (host, i) => {
    const passwords = await readPasswords(inventory, host, problems);
    const receivers = await readReceivers(inventory, host, problems);
    const certificate = await readCertificate(inventory, host, problems);
    const keys = await readKeys(inventory, host, problems);
    const fallback = await readFallback(inventory, host, problems);
    const gateway = { certificate, keys, fallback };
    const tls = await readAuthority(inventory, host, problems);
    const copy = await readBackupCopy(inventory, host, problems);
    const read = { passwords, receivers, gateway, tls, backup, copy, replica, files: snapshots[i] };
    return [host, read] as const;
  });
  const secrets = new Map(await Promise.all(reading));
  for (const store of ['state', 'prover'] as const) {
    const path = ['credentials', store, 'password'];
    problems.push(...differing(inventory, path, (host) => secrets.get(host)?.passwords[store]?.reveal()));
  }
  throwProblems(problems);
  const hosts = [...secrets].map(([host, own]) => withSecrets(host, own as Secrets));
  const { name, file, sourcesOf, said } = inventory;
  const warnings = [
    ...plainTextWarnings(inventory),
    ...openWays(inventory),
    ...eachOnce(chainsAtLoopback(inventory)),
  ];
  return { name, file, hosts, sourcesOf, ...(said && { said }), warnings };
}

/** Groups of the operator's own decide nothing of what a host gets: they are apart. */
function byPurpose<V>(inventory: LoadedInventory<V>): LoadedInventory<V> {
  const hosts = inventory.hosts.map((host) => ({
    ...host,
    groups: host.groups.filter((group) => Object.hasOwn(groups, group)),
    ownGroups: host.groups.filter((group) => !Object.hasOwn(groups, group)),
  }));
  return { ...inventory, hosts };
}

type Passwords = Readonly<Record<(typeof stores)[number], Secret>>;

/** What is read for one host, where all of it could be read. */
interface Secrets {
  readonly passwords: Passwords;
  readonly receivers: readonly Receiver[];
  readonly gateway: {
    readonly certificate: Certificate | AcmeCertificate | undefined;
    readonly keys: readonly ApiKey[];
    readonly fallback: Secret | undefined;
  };
  readonly tls: Authority | undefined;
  readonly backup: Secret | undefined;
  readonly copy: BackupCopy | undefined;
  readonly replica: Secret | undefined;
  readonly files: SnapshotFiles;
}

/** The passwords that could be read. Adds to the problems. */
async function readPasswords(
  inventory: LoadedInventory<RawVariables>,
  { name, vars }: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<Partial<Passwords>> {
  const read = stores.map(async (store) => {
    const { password } = vars.credentials[store];
    return [
      store,
      await readPassword(inventory, name, ['credentials', store, 'password'], password, problems),
    ];
  });
  return Object.fromEntries(await Promise.all(read));
}

async function readPassword(
  { placeOf, readSecret }: LoadedInventory<RawVariables>,
  host: string,
  path: readonly string[],
  reference: string,
  problems: Problem[],
) {
  const allowed = { ...passwordCharacters, least: leastCharacters };
  const reading = readSecret(reference, { name: path.join('.'), where: placeOf(host, path), allowed });
  return reading.catch((error) => void problems.push(...problemsIn(error)));
}

/**
 * The password of the role that copies the server for a group: one for all hosts, that of its
 * first host. None without such a host.
 */
async function groupPassword(
  inventory: LoadedInventory<RawVariables>,
  group: 'backup' | 'replica',
  problems: Problem[],
) {
  const host = inventory.hosts.find(({ groups }) => groups.includes(group));
  if (!host) return undefined;
  const path = [group, 'password'];
  const { password } = host.vars[group];
  if (password !== undefined) return readPassword(inventory, host.name, path, password, problems);
  const where = inventory.placeOf(host.name, path);
  const hint = `name where it is, such as secret:${group}_password; it belongs to that role alone`;
  const what = `${group}.password is missing, and the inventory has a host in group ${group}`;
  problems.push(new Problem(what, { where, hint }));
  return undefined;
}

function withSecrets(host: InventoryHost<RawVariables>, own: Secrets): InventoryHost<Variables> {
  const { passwords } = own;
  const { certificate, keys, fallback } = own.gateway;
  const { state, pool, prover } = host.vars.credentials;
  const credentials = {
    state: { ...state, password: passwords.state },
    pool: { ...pool, password: passwords.pool },
    prover: { ...prover, password: passwords.prover },
  };
  const monitoring = { ...host.vars.monitoring, receivers: [...own.receivers] };
  const { tls, fallback: _, ...plain } = host.vars.gateway;
  const gateway = {
    ...plain,
    ...(certificate && { tls: certificate }),
    ...(fallback && { fallback }),
    keys,
  };
  const { snapshot, ...defaults } = generationDefaults(host.vars);
  const copying = <T extends { readonly password?: unknown }>(
    { password: _, ...rest }: T,
    password?: Secret,
  ) => ({
    ...rest,
    ...(password && { password }),
  });
  const { copy_to: _to, s3: _s3, recipients: _for, identity: _by, ...kept } = host.vars.backup;
  const backup = { ...copying(kept, own.backup), ...(own.copy && { copy: own.copy }) };
  const replica = copying(host.vars.replica, own.replica);
  const { tls: _tls, ...others } = host.vars;
  const vars = { ...others, ...defaults, credentials, monitoring, gateway, backup, replica };
  const encryption = own.tls && { tls: own.tls };
  return { ...host, vars: { ...vars, ...encryption, snapshot: { ...snapshot, ...own.files } } };
}

/**
 * The receivers of alerts with their secrets, for the monitor; for other hosts none, as nothing of
 * them is needed there. Adds to the problems what could not be read.
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
    if (typeof tree !== 'string') return tree;
    const question = { name: path.join('.'), where: inventory.placeOf(host.name, path) };
    return readSecretText(tree, question, inventory.readSecret).then(
      (secret) => secret ?? tree,
      (error) => void problems.push(...problemsIn(error)),
    );
  };
  return (await read(host.vars.monitoring.receivers, ['monitoring', 'receivers'])) as readonly Receiver[];
}
