import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { overrideFaults } from '../render/overrides/overrides.ts';
import { type Generation, generationDefaults, generationNames, generations, tagOf } from '../variables/generation.ts';
import { groups } from '../variables/groups.ts';
import type { RawVariables } from '../variables/variables.ts';

type Deployment = LoadedInventory<RawVariables>;
type Host = InventoryHost<RawVariables>;
type Path = readonly string[];

/** A fault of one value in the variables of a host. */
interface Fault {
  readonly path: Path;
  readonly what: string;
  readonly hint?: string | undefined;
}

/** The rules between hosts, and between variables, that the schema of the variables cannot express. */
export function deploymentProblems(inventory: Deployment): Problem[] {
  return [
    ...groupProblems(inventory),
    ...shared.flatMap((path) => differing(inventory, path, ({ vars }) => valueAt(vars, path))),
    ...inventory.hosts.flatMap((host) => [...unusedVariables(inventory, host), ...valueProblems(inventory, host)]),
  ];
}

function groupProblems({ hosts, placeOfGroup }: Deployment): Problem[] {
  const hostsIn = (group: string) => hosts.filter((host) => host.groups.includes(group)).map(({ name }) => name);
  const databases = hostsIn('database');
  const known = Object.keys(groups);
  const faults: [group: string, what: string, hint: string][] = hosts
    .flatMap((host) => host.groups)
    .filter((group) => !known.includes(group))
    .map((group) => [group, `unknown group ${group}`, `the groups are ${known.join(', ')}`]);
  if (databases.length === 0) {
    const hint = 'name the one server with the state database and the synchronizer';
    faults.push(['database', 'group database has no host', hint]);
  }
  if (databases.length > 1) {
    const what = `group database has ${databases.length} hosts (${databases.join(', ')}): there may be only one`;
    faults.push(['database', what, 'two synchronizers on one database corrupt it']);
  }
  if (hostsIn('rpc').length === 0) {
    faults.push(['rpc', 'group rpc has no host', 'name one or more servers for JSON-RPC']);
  }
  return faults.map(([group, what, hint]) => new Problem(what, { where: placeOfGroup(group), hint }));
}

/** All hosts use the databases of the Database+Sync server and follow one network. Addresses may differ, for a mirror. */
const shared: readonly Path[] = [
  ...['state', 'prover'].flatMap((store) => ['user', 'database'].map((key) => ['credentials', store, key])),
  ['generation'],
  ['network', 'kind'],
  ['network', 'chain_id'],
  ['network', 'genesis', 'sha256'],
];

/**
 * Problems for the hosts with other values than the Database+Sync server.
 *
 * @param valueFor undefined for a password that could not be read: it differs from none
 */
export function differing({ hosts, placeOf }: Deployment, path: Path, valueFor: (host: Host) => unknown): Problem[] {
  const database = hosts.find((host) => host.groups.includes('database'));
  const expected = database && valueFor(database);
  return hosts
    .filter((host) => expected !== undefined && ![undefined, expected].includes(valueFor(host)))
    .map(({ name }) => {
      const what = `${path.join('.')} of ${name} differs from that of ${database?.name}, whose database it uses`;
      return new Problem(what, { where: placeOf(name, path) });
    });
}

function valueAt(vars: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], vars);
}

/** Variables that only the Database+Sync server uses. */
const ofDatabaseHost: readonly Path[] = [
  ['state_db'],
  ['ports', 'state_db'],
  ['ports', 'sync_metrics'],
  ['snapshot'],
  ['network', 'region'],
];

function unusedVariables({ hosts, isOwn, placeOfKey }: Deployment, { name, groups }: Host): Problem[] {
  const database = hosts.find((host) => host.groups.includes('database'));
  if (!database || groups.includes('database')) return [];
  return ofDatabaseHost
    .filter((path) => isOwn(name, path))
    .map((path) => {
      const what = `${path.join('.')} of ${name} has no use: only that of the Database+Sync server is used`;
      const hint = `move it to ${database.name}, or to the vars of all hosts`;
      return new Problem(what, { where: placeOfKey(name, path), hint });
    });
}

function valueProblems(inventory: Deployment, host: Host): Problem[] {
  const faults = [
    ...connectionFaults(inventory, host),
    ...portFaults(host),
    ...generationFaults(host.vars),
    ...overrideFaults(host.vars),
  ];
  return faults.map((fault) => {
    const placeOf = 'at' in fault && fault.at === 'key' ? inventory.placeOfKey : inventory.placeOf;
    return new Problem(fault.what, { where: placeOf(host.name, fault.path), hint: fault.hint });
  });
}

function* connectionFaults({ hosts }: Deployment, { groups, vars }: Host): Generator<Fault> {
  const { executor_threads, hash_db_threads, pool_connections } = generationDefaults(vars).prover;
  const threads = executor_threads + hash_db_threads + 1;
  if (threads > pool_connections) {
    yield {
      path: ['prover', 'pool_connections'],
      what: `prover.pool_connections is ${pool_connections}, but the prover needs executor_threads + hash_db_threads + 1 = ${threads}`,
    };
  }
  const provers = hosts.filter((host) => !host.groups.includes('gateway'));
  const opened = provers.reduce((sum, each) => sum + generationDefaults(each.vars).prover.pool_connections, 0);
  const most = vars.state_db.max_connections;
  if (groups.includes('database') && opened >= most) {
    yield {
      path: ['state_db', 'max_connections'],
      what: `state_db.max_connections is ${most}, but the provers of ${provers.length} hosts open ${opened} at start`,
      hint: 'raise it, or lower prover.pool_connections',
    };
  }
}

/** Two equal ports of one host. */
function portFaults({ groups, vars }: Host): Fault[] {
  if (groups.includes('gateway')) return [];
  const unused = groups.includes('database') ? /^rpc_/ : /^(state_db|sync_)/;
  const ports = Object.entries(vars.ports).filter(([name]) => !unused.test(name));
  return ports.flatMap(([name, port], i) => {
    const first = ports.slice(0, i).find(([, other]) => other === port);
    return first ? [{ path: ['ports', name], what: `ports.${name} is ${port}, as ports.${first[0]} is` }] : [];
  });
}

/** Versions and paths of the other generation: they need its configuration. */
function generationFaults({ generation: own, images, snapshot, node_binary }: RawVariables): Fault[] {
  const named: { path: Path; value: string | undefined; of: (generation: Generation) => string }[] = [
    { path: ['images', 'node'], value: tagOf(images.node), of: ({ versions }) => versions.node },
    { path: ['images', 'prover'], value: tagOf(images.prover), of: ({ versions }) => versions.prover },
    { path: ['snapshot', 'source', 'ref'], value: snapshot.source?.ref, of: ({ versions }) => versions.node },
    { path: ['node_binary'], value: node_binary, of: ({ nodeBinary }) => nodeBinary },
  ];
  return named.flatMap(({ path, value, of }) => {
    const other = generationNames.find((name) => of(generations[name]) === value);
    if (other === undefined || value === of(generations[own])) return [];
    return {
      path,
      what: `${path.join('.')} is of the ${other} generation, and generation is ${own}`,
      hint: `leave out ${path[0] === 'images' ? 'the tag' : 'the key'}: the default is that of the ${own} generation`,
    };
  });
}
