import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import { type LoadedInventory, type LoadOptions, loadInventory } from '../inventory/load.ts';
import { readSecret } from '../inventory/secret-reference.ts';
import { Problem, Problems } from '../problem.ts';
import type { Secret } from '../secret/secret.ts';
import { generationDefaults, generationOfImage } from './generation.ts';
import { groups } from './groups.ts';
import { overrideFaults } from './overrides.ts';
import { type RawVariables, type Variables, variablesSchema } from './variables.ts';

const stores = ['state', 'pool', 'prover'] as const;

/** The passwords go unescaped into a connection URL, and into TOML, JSON, YAML and SQL: only these are safe in all of them. */
const passwordCharacters = {
  pattern: /^[A-Za-z0-9_.~-]+$/,
  reason: 'only A-Z a-z 0-9 _ . ~ - are safe, for the node and the prover put it unescaped into a connection URL',
};

/**
 * Reads the inventory of one deployment: one Database+Sync server (group `database`), one or more RPC servers (group `rpc`), and all
 * passwords.
 *
 * @throws Problem or Problems with everything that is wrong, each with its place; nothing has been touched
 */
export async function loadDeployment(nameOrFile: string, options: LoadOptions = {}): Promise<Inventory<Variables>> {
  const inventory = await loadInventory(nameOrFile, variablesSchema, options);
  const problems = [
    ...groupProblems(inventory),
    ...agreementProblems(inventory),
    ...inventory.hosts.flatMap((host) => valueProblems(inventory, host)),
  ];

  const cache = new Map<string, Promise<Secret>>();
  const hosts = await Promise.all(
    inventory.hosts.map(async (host): Promise<InventoryHost<Variables>> => {
      const read = await Promise.all(stores.map((store) => password(inventory, host, store, cache, options, problems)));
      const [state, pool, prover] = read;
      const { credentials } = host.vars;
      return {
        ...host,
        vars: {
          ...host.vars,
          ...generationDefaults(host.vars),
          credentials: {
            state: { ...credentials.state, password: state as Secret },
            pool: { ...credentials.pool, password: pool as Secret },
            prover: { ...credentials.prover, password: prover as Secret },
          },
        },
      };
    }),
  );
  problems.push(...passwordsThatDiffer(inventory, hosts));
  if (problems.length > 0) throw new Problems(unique(problems));
  return { name: inventory.name, file: inventory.file, hosts };
}

function groupProblems(inventory: LoadedInventory<RawVariables>): Problem[] {
  const inGroup = (group: string): readonly InventoryHost<RawVariables>[] =>
    inventory.hosts.filter((host) => host.groups.includes(group));
  const problems: Problem[] = [];
  const used = new Set(inventory.hosts.flatMap((host) => host.groups));
  for (const group of used) {
    if (group in groups) continue;
    problems.push(
      new Problem(`unknown group ${group}`, {
        where: inventory.placeOfGroup(group),
        hint: `the groups are ${Object.keys(groups).join(' and ')}`,
      }),
    );
  }
  const databases = inGroup('database');
  if (databases.length === 0) {
    problems.push(
      new Problem('group database has no host', {
        where: inventory.placeOfGroup('database'),
        hint: 'name the one server that holds the state database and runs the synchronizer',
      }),
    );
  }
  if (databases.length > 1) {
    problems.push(
      new Problem(
        `group database has ${databases.length} hosts (${databases.map(({ name }) => name).join(', ')}): there may be only one`,
        {
          where: inventory.placeOfGroup('database'),
          hint: 'two synchronizers on one database corrupt it',
        },
      ),
    );
  }
  if (inGroup('rpc').length === 0) {
    problems.push(
      new Problem('group rpc has no host', {
        where: inventory.placeOfGroup('rpc'),
        hint: 'name one or more servers that serve JSON-RPC',
      }),
    );
  }
  return problems;
}

/** The state and prover databases are the Database+Sync server's: every host has to name them alike, and one network. */
function agreementProblems(inventory: LoadedInventory<RawVariables>): Problem[] {
  const database = inventory.hosts.find((host) => host.groups.includes('database'));
  if (!database) return [];
  const paths: readonly (readonly string[])[] = [
    ...['state', 'prover'].flatMap((store) => ['user', 'database'].map((key) => ['credentials', store, key])),
    ['generation'],
    ['network', 'kind'],
    ['network', 'chain_id'],
  ];
  return inventory.hosts.flatMap((host) =>
    paths
      .filter((path) => setting(host.vars, path) !== setting(database.vars, path))
      .map(
        (path) =>
          new Problem(
            `${path.join('.')} of ${host.name} differs from that of ${database.name}, whose database it uses`,
            {
              where: inventory.placeOf(host.name, path),
            },
          ),
      ),
  );
}

/** Told apart only where both could be read. */
function passwordsThatDiffer(
  inventory: LoadedInventory<RawVariables>,
  hosts: readonly InventoryHost<Variables>[],
): Problem[] {
  const database = hosts.find((host) => host.groups.includes('database'));
  const valueFor = (host: InventoryHost<Variables> | undefined, store: 'state' | 'prover'): string | undefined =>
    (host?.vars.credentials[store].password as Secret | undefined)?.reveal();
  return hosts.flatMap((host) =>
    (['state', 'prover'] as const)
      .filter((store) => {
        const [own, shared] = [valueFor(host, store), valueFor(database, store)];
        return own !== undefined && shared !== undefined && own !== shared;
      })
      .map(
        (store) =>
          new Problem(
            `credentials.${store}.password of ${host.name} differs from that of ${database?.name}, whose database it uses`,
            {
              where: inventory.placeOf(host.name, ['credentials', store, 'password']),
            },
          ),
      ),
  );
}

function setting(vars: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], vars);
}

/** What each value may be on its own, but not together with another. */
function valueProblems(inventory: LoadedInventory<RawVariables>, host: InventoryHost<RawVariables>): Problem[] {
  const { vars } = host;
  const problems: Problem[] = [];
  const refuse = (path: readonly string[], what: string, hint?: string): void => {
    problems.push(new Problem(what, { where: inventory.placeOf(host.name, path), hint }));
  };

  const { executor_threads, hash_db_threads, pool_connections } = generationDefaults(vars).prover;
  const threads = executor_threads + hash_db_threads + 1;
  if (threads > pool_connections) {
    refuse(
      ['prover', 'pool_connections'],
      `prover.pool_connections is ${pool_connections}, but the prover needs executor_threads + hash_db_threads + 1 = ${threads}`,
    );
  }
  if (host.groups.includes('database')) {
    const needed = inventory.hosts.reduce(
      (sum, each) => sum + generationDefaults(each.vars).prover.pool_connections,
      0,
    );
    if (needed >= vars.state_db.max_connections) {
      refuse(
        ['state_db', 'max_connections'],
        `state_db.max_connections is ${vars.state_db.max_connections}, but the provers of ${inventory.hosts.length} hosts open ${needed} at start`,
        'raise it, or lower prover.pool_connections',
      );
    }
    if (vars.credentials.state.database === vars.credentials.prover.database) {
      refuse(
        ['credentials', 'prover', 'database'],
        'credentials.prover.database is the state database: the prover needs one of its own',
      );
    }
    if (vars.credentials.state.user === vars.credentials.prover.user) {
      refuse(
        ['credentials', 'prover', 'user'],
        "credentials.prover.user is the state database's user: the init script creates another",
      );
    }
  }
  const elsewhere = host.groups.includes('database') ? /^rpc_/ : /^(state_db|sync_)/;
  const ports = Object.entries(vars.ports).filter(([name]) => !elsewhere.test(name));
  for (const [i, [name, port]] of ports.entries()) {
    const first = ports.slice(0, i).find(([, other]) => other === port);
    if (first) refuse(['ports', name], `ports.${name} is ${port}, as ports.${first[0]} is`);
  }
  if (vars.disk_alert.clear_percent >= vars.disk_alert.warn_percent) {
    refuse(['disk_alert', 'clear_percent'], 'disk_alert.clear_percent must be below disk_alert.warn_percent');
  }
  for (const program of ['node', 'prover'] as const) {
    const other = generationOfImage(vars.images[program], program);
    if (other === undefined || other === vars.generation) continue;
    refuse(
      ['images', program],
      `images.${program} has the ${other} generation's version, and generation is ${vars.generation}`,
      "each goes with its own configuration; without a tag the generation's own version is taken",
    );
  }
  for (const { path, at, what, hint } of overrideFaults(vars)) {
    const where = at === 'key' ? inventory.placeOfKey(host.name, path) : inventory.placeOf(host.name, path);
    problems.push(new Problem(what, { where, hint }));
  }
  if (vars.docker_root.format && vars.docker_root.disk === undefined) {
    refuse(
      ['docker_root', 'format'],
      'docker_root.format needs docker_root.disk: only a disk that is named is ever formatted',
    );
  }
  if (vars.snapshot.restore_with === 'source' && vars.snapshot.source === undefined) {
    refuse(
      ['snapshot'],
      'snapshot.source is missing: restore_with is source',
      'name the repository and ref, or say restore_with: image',
    );
  }
  return problems;
}

async function password(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  store: (typeof stores)[number],
  cache: Map<string, Promise<Secret>>,
  { environment }: LoadOptions,
  problems: Problem[],
): Promise<Secret | undefined> {
  const path = ['credentials', store, 'password'];
  const where = inventory.placeOf(host.name, path);
  const reference = host.vars.credentials[store].password;
  const key = `${where.file} ${where.line} ${where.column} ${reference}`;
  const reading =
    cache.get(key) ??
    readSecret(reference, {
      name: path.join('.'),
      where,
      allowed: passwordCharacters,
      ...(environment && { environment }),
    });
  cache.set(key, reading);
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problems.push(error);
    return undefined;
  }
}

function unique(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const id = JSON.stringify([problem.where, problem.message]);
    return !seen.has(id) && seen.add(id);
  });
}
