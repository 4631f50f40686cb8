import type { Inventory, InventoryHost } from '../../engine/inventory/inventory.ts';
import { type LoadedInventory, type LoadOptions, loadInventory } from '../../engine/inventory/load.ts';
import { exitCode, Problem, Problems } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { overrideFaults } from '../render/overrides/overrides.ts';
import {
  type Generation,
  generationDefaults,
  otherGeneration,
  postgresVersion,
  tagOf,
} from '../variables/generation.ts';
import { groups } from '../variables/groups.ts';
import { type RawVariables, type Variables, variablesSchema } from '../variables/variables.ts';

export const stores = ['state', 'pool', 'prover'] as const;

/** The passwords go unescaped into a connection URL, and into TOML, JSON, YAML and SQL: only these are safe in all of them. */
export const passwordCharacters = {
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
      const read = await Promise.all(stores.map((store) => password(inventory, host, store, cache, problems)));
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
    if (Object.hasOwn(groups, group)) continue;
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
    // Its address may differ, for a mirror; so may those of the sequencer and of layer 1.
    ['network', 'genesis', 'sha256'],
  ];
  const differing = inventory.hosts.flatMap((host) =>
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
  const unused = inventory.hosts
    .filter((host) => host !== database)
    .flatMap(({ name }) =>
      ofDatabaseHost
        .filter((path) => inventory.saysItself(name, path))
        .map(
          (path) =>
            new Problem(`${path.join('.')} of ${name} has no use: only the Database+Sync server's counts`, {
              where: inventory.placeOfKey(name, path),
              hint: `say it for ${database.name}, or in the vars of all hosts`,
            }),
        ),
    );
  return [...differing, ...unused];
}

/** What no other host reads of its own variables. */
const ofDatabaseHost: readonly (readonly string[])[] = [
  ['state_db'],
  ['ports', 'state_db'],
  ['ports', 'sync_metrics'],
  ['snapshot'],
  ['network', 'region'],
];

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
  for (const { path, has, isOf, without } of ofGeneration(vars)) {
    const other = otherGeneration(vars.generation, isOf);
    if (other === undefined) continue;
    refuse(
      path,
      `${path.join('.')} ${has} the ${other} generation's${has === 'has' ? ' version' : ''}, and generation is ${vars.generation}`,
      `each goes with its own configuration; without ${without} the generation's own is taken`,
    );
  }
  const tag = tagOf(vars.images.database);
  if (tag !== undefined && isOtherPostgres(tag)) {
    refuse(
      ['images', 'database'],
      `images.database has the tag ${tag}, and PostgreSQL has to be of major version ${postgresVersion}`,
      `without a tag ${postgresVersion} is taken; a tag of your own that is no version, or a digest, is taken as it is`,
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
  if (vars.snapshot.restore_with !== 'pg_restore' && vars.snapshot.restore_jobs !== undefined) {
    refuse(
      ['snapshot', 'restore_jobs'],
      `snapshot.restore_jobs needs restore_with: pg_restore, and restore_with is ${vars.snapshot.restore_with}`,
      "leave it out, or say restore_with: pg_restore; the node's own tool restores by one job",
    );
  }
  return problems;
}

/** What names something of one generation. */
function ofGeneration({ images, snapshot, node_binary }: RawVariables): readonly {
  readonly path: readonly string[];
  readonly has: 'has' | 'is';
  readonly isOf: (generation: Generation) => boolean;
  readonly without: string;
}[] {
  const { node, prover } = images;
  return [
    { path: ['images', 'node'], has: 'has', isOf: ({ versions }) => versions.node === tagOf(node), without: 'a tag' },
    {
      path: ['images', 'prover'],
      has: 'has',
      isOf: ({ versions }) => versions.prover === tagOf(prover),
      without: 'a tag',
    },
    {
      path: ['snapshot', 'source', 'ref'],
      has: 'is',
      isOf: ({ versions }) => versions.node === snapshot.source?.ref,
      without: 'it',
    },
    { path: ['node_binary'], has: 'is', isOf: ({ nodeBinary }) => nodeBinary === node_binary, without: 'it' },
  ];
}

/** Whether a tag names another version: `16`, `9.6-alpine`, or `latest`, which is another every year. Dates are no versions. */
function isOtherPostgres(tag: string): boolean {
  const major = /^v?(\d{1,2})(?!\d)/.exec(tag)?.[1];
  return tag === 'latest' || (major !== undefined && Number(major) !== postgresVersion);
}

async function password(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  store: (typeof stores)[number],
  cache: Map<string, Promise<Secret>>,
  problems: Problem[],
): Promise<Secret | undefined> {
  const path = ['credentials', store, 'password'];
  const where = inventory.placeOf(host.name, path);
  const reference = host.vars.credentials[store].password;
  const key = `${where.file} ${where.line} ${where.column} ${reference}`;
  const reading =
    cache.get(key) ?? inventory.readSecret(reference, { name: path.join('.'), where, allowed: passwordCharacters });
  cache.set(key, reading);
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problems) problems.push(...error.problems);
    else if (error instanceof Problem && error.code !== exitCode.interrupted) problems.push(error);
    else throw error;
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
