import { isDeepStrictEqual } from 'node:util';
import { isLoopback, usualAddress } from '../../engine/inventory/address.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { type Place, Problem } from '../../engine/problem/problem.ts';
import { fieldsOf, keysOf } from '../../engine/text/keys.ts';
import { didYouMean, suggest } from '../../engine/text/suggest.ts';
import { overrideFaults } from '../render/overrides/overrides.ts';
import { challengePort, isChallengedByHttp } from '../variables/acme.ts';
import type { Fault } from '../variables/fault.ts';
import { type Generation, generationNames, generations, tagOf } from '../variables/generation.ts';
import { groups } from '../variables/groups.ts';
import { choosesLayer1 } from '../variables/layer1.ts';
import { isMonitor, monitoringPorts } from '../variables/monitoring.ts';
import type { RawVariables } from '../variables/variables.ts';
import { chainAddressFaults, servedPlaces } from './chain-addresses.ts';
import { connectionFaults } from './connections.ts';
import { containerSubnetFaults } from './container-subnet.ts';
import { gatewayFaults, gatewayPorts } from './gateway.ts';
import { networkFaults } from './network-rules.ts';
import { replicaFaults } from './replicas.ts';

type Deployment = LoadedInventory<RawVariables>;
type Host = InventoryHost<RawVariables>;
type Path = readonly string[];

/**
 * The rules between hosts, and between variables, that the schema of the variables cannot express.
 */
export function deploymentProblems(inventory: Deployment): Problem[] {
  const served = servedPlaces(inventory.hosts);
  return [
    ...groupProblems(inventory),
    ...sharedAddresses(inventory),
    ...shared.flatMap((path) => differing(inventory, path, ({ vars }) => valueAt(vars, path))),
    ...differing(inventory, ['tls'], ({ vars }) => JSON.stringify(vars.tls ?? false)),
    ...inventory.hosts.flatMap((host) => [
      ...unusedVariables(inventory, host),
      ...valueProblems(inventory, host, served),
    ]),
  ];
}

/** The groups that need a host, and what that is. */
const needed = {
  database: 'name the one server with the state database and the synchronizer',
  rpc: 'name one or more servers for JSON-RPC',
};

/** The groups that may have so many hosts only, and why or what else to do. */
const limited = {
  database: 'two synchronizers on one database corrupt it',
  monitor: 'a second Prometheus of your own is let in by monitoring: { scrape_from: [ADDRESS] }',
  backup: 'the server keeps its write-ahead log for one of them',
  replica:
    'PostgreSQL sends its log to ten others at a time, and a backup host and a new replica need three of them',
};

/** The groups whose hosts are in no other one, and why. */
const alone = {
  backup: 'a backup has to outlive the servers of the deployment: give it one of its own',
  replica: 'a replica takes load off the other servers: give it one of its own',
  monitor: 'a monitor has to notice when other servers fail: give it one of its own',
};

function groupProblems(deployment: Deployment): Problem[] {
  const { hosts, placeOfGroup } = deployment;
  const known = Object.keys(groups);
  const hostsIn = (group: string) =>
    hosts.filter((host) => host.groups.includes(group)).map(({ name }) => name);
  const problem = (group: string, what: string, hint: string | undefined) =>
    new Problem(what, { where: placeOfGroup(group), hint });
  return [
    ...unknownGroups(hosts).map((group) => {
      const hint = `the groups are ${known.join(', ')}; each host is in one of them`;
      return problem(
        group,
        `unknown group ${group}`,
        suggest(group, known) ? didYouMean(group, known) : hint,
      );
    }),
    ...Object.entries(needed)
      .filter(([group]) => hostsIn(group).length === 0)
      .map(([group, hint]) => problem(group, `group ${group} has no host`, hint)),
    ...keysOf(limited).flatMap((group) => {
      const names = hostsIn(group);
      const { most = 1 } = groups[group];
      const allowed = most === 1 ? 'only one' : `${most} at most`;
      const what = `group ${group} has ${names.length} hosts (${names.join(', ')}): there may be ${allowed}`;
      return names.length > most ? [problem(group, what, limited[group])] : [];
    }),
    ...notAlone(deployment),
    ...togetherOnMainNetwork(deployment),
  ];
}

/** Hosts that share a server with another group, and may not. */
function notAlone({ hosts, placeOfGroup }: Deployment): Problem[] {
  return Object.entries(alone).flatMap(([group, hint]) => {
    const both = hosts.filter(({ groups: own }) => own.includes(group) && own.length > 1);
    return both.map(({ name, groups: own }) => {
      const what = `${name} is in group ${group} and in ${own.filter((other) => other !== group).join(', ')}`;
      return new Problem(what, { where: placeOfGroup(group, name), hint });
    });
  });
}

/** Servers of the main network that are in several groups. */
function togetherOnMainNetwork({ hosts, placeOfGroup }: Deployment): Problem[] {
  return hosts
    .filter(({ vars }) => vars.network.kind === 'main')
    .flatMap(({ name, groups: own }) => {
      const several = ['database', 'rpc', 'gateway'].filter((group) => own.includes(group));
      if (several.length < 2) return [];
      const what = `${name} is in the groups ${several.join(' and ')}: on the main network JSON-RPC and gateways have servers of their own`;
      const hint = 'one server for several of them is for a test network';
      return [
        new Problem(what, {
          where: placeOfGroup(own.findLast((each) => several.includes(each)) ?? '', name),
          hint,
        }),
      ];
    });
}

/**
 * The groups that do not count as the operator's own: they have a host that is in no other group, or
 * one that the group with nearly the same name does not have.
 */
function unknownGroups(hosts: readonly Host[]): string[] {
  const unknown = hosts.flatMap(({ groups: own, ownGroups = [] }) =>
    ownGroups.filter((group) => {
      const meant = suggest(group, Object.keys(groups));
      return own.length === 0 || (meant !== undefined && !own.includes(meant));
    }),
  );
  return [...new Set(unknown)];
}

/**
 * All hosts use the databases of the Database+Sync server and follow one network. Addresses may
 * differ, for a mirror.
 */
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
export function differing(
  { hosts, placeOf }: Deployment,
  path: Path,
  valueFor: (host: Host) => unknown,
): Problem[] {
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
  return path.reduce<unknown>((value, key) => fieldsOf(value)[key], vars);
}

/** Variables that only the Database+Sync server uses. */
const ofDatabaseHost: readonly Path[] = [
  ['state_db'],
  ['ports', 'state_db'],
  ['ports', 'sync_metrics'],
  ['snapshot'],
  ['network', 'region'],
];

function unusedVariables({ hosts, hostsWith, placeOfKey }: Deployment, { name, groups }: Host): Problem[] {
  const database = hosts.find((host) => host.groups.includes('database'));
  if (!database || groups.includes('database')) return [];
  const ofReplica = (path: Path) => groups.includes('replica') && path.includes('state_db');
  return ofDatabaseHost
    .filter((path) => hostsWith(name, path)?.includes(database.name) === false && !ofReplica(path))
    .map((path) => {
      const what = `${path.join('.')} of ${name} has no use: only that of the Database+Sync server is used`;
      const hint = `move it to ${database.name}, or to the vars of all hosts`;
      return new Problem(what, { where: placeOfKey(name, path), hint });
    });
}

function valueProblems(
  inventory: Deployment,
  host: Host,
  served: ReturnType<typeof servedPlaces>,
): Problem[] {
  const faults: readonly Fault[] = [
    ...addressFaults(inventory, host),
    ...connectionFaults(inventory.hosts, host),
    ...replicaFaults(inventory, host),
    ...networkFaults(host),
    ...containerSubnetFaults(inventory.hosts, host),
    ...gatewayFaults(inventory, host),
    ...portFaults(inventory, host),
    ...generationFaults(host.vars),
    ...signatureFaults(host.vars),
    ...chainAddressFaults(host.vars, served),
    ...layer1Faults(inventory.hosts, host),
    ...overrideFaults(host.vars),
  ];
  return faults.map((fault) => {
    return new Problem(fault.what, { where: placeOfFault(inventory, host, fault), hint: fault.hint });
  });
}

function placeOfFault(
  { placeOf, placeOfKey, placeOfGroup }: Deployment,
  { name, groups }: Host,
  fault: Fault,
): Place {
  if (fault.at === 'host') return placeOfGroup(groups[0] ?? '', name, ...fault.path);
  return (fault.at === 'key' ? placeOfKey : placeOf)(name, fault.path);
}

/**
 * Hosts reach each other at their addresses, and let each other in by them: the RPC servers the
 * state database, gateways the RPC servers, a monitor all of them. A loopback address is enough
 * only where all hosts have one, as in a test on one machine.
 */
function addressFaults(
  { hosts }: Deployment,
  { name, groups, connection: { address }, vars }: Host,
): Fault[] {
  if (!isLoopback(address)) return [];
  const others = hosts.filter((host) => host.name !== name && !isLoopback(host.connection.address));
  const namesIn = (...wanted: readonly string[]) =>
    others.filter((host) => host.groups.some((group) => wanted.includes(group))).map((host) => host.name);
  const hasDatabase = groups.includes('database') || groups.includes('replica');
  const clients = hasDatabase ? namesIn('rpc') : namesIn('gateway', 'monitor');
  const fault = (what: string, hint: string): Fault[] => [{ path: ['address'], at: 'host', what, hint }];
  if (clients.length > 0) {
    const needed = hasDatabase ? 'its state database' : 'it';
    const need = clients.length === 1 ? 'needs' : 'need';
    return fault(
      `${name} is at ${address}, where only ${name} itself can reach ${needed}, but ${clients.join(', ')} ${need} it too`,
      'write the address at which the other servers reach it',
    );
  }
  const isClient = groups.includes('rpc') || groups.includes('backup');
  const [server] = isClient ? namesIn('database') : namesIn('rpc');
  if (hasDatabase || server === undefined || vars.firewall.connects_from !== undefined) return [];
  return fault(
    `${name} is at ${address}, and ${server} lets hosts in by their addresses`,
    `write the address from which ${name} reaches ${server}, or name it in firewall.connects_from of ${name}`,
  );
}

/**
 * Hosts behind one address, with a port for SSH each: at all other ports of it one of them answers.
 * `addressFaults` has the rules for loopback addresses.
 */
function sharedAddresses({ hosts, placeOfGroup }: Deployment): Problem[] {
  const seen = new Map<string, string>();
  return hosts.flatMap(({ name, groups: own, connection }) => {
    const address = usualAddress(connection.address);
    const first = seen.get(address);
    if (first === undefined) seen.set(address, name);
    if (first === undefined || isLoopback(address)) return [];
    const what = `${name} has the address of ${first}, where the other hosts would reach only one of them`;
    const hint =
      'write the address at which the other hosts reach it; ssh_config or jump may lead to it by another way';
    return [new Problem(what, { where: placeOfGroup(own[0] ?? '', name, 'address'), hint })];
  });
}

/** Ports of templates/gateway/acme.cfg. */
const acmePorts = { [challengePort]: 'challenges of the ACME server arrive', 8402: 'certbot listens' };

/** Where each is on every host, so that one rule holds for all. */
const exporterPorts = {
  [monitoringPorts.host]: 'node_exporter listens',
  [monitoringPorts.postgres]: 'postgres_exporter listens',
};

/** Two equal ports of one host, and those where something else listens. */
function portFaults({ hosts }: Deployment, { groups, connection, vars }: Host): Fault[] {
  const [isDatabase, isRpc] = [groups.includes('database'), groups.includes('rpc')];
  const isUsed = (name: string) => {
    if (name === 'layer1') return isDatabase && choosesLayer1(vars);
    if (groups.includes('replica')) return name === 'state_db';
    return name.startsWith('rpc_') ? isRpc : isDatabase || (isRpc && !/^(state_db|sync_)/.test(name));
  };
  const isGateway = groups.includes('gateway');
  const named = (section: 'ports' | 'gateway', names: readonly string[]) =>
    names.map(
      (name) =>
        [[section, name], (vars[section] as Readonly<Record<string, unknown>>)[name] as number] as const,
    );
  const ports = [
    ...named('ports', Object.keys(vars.ports).filter(isUsed)),
    ...named('gateway', isGateway ? gatewayPorts : []),
  ];
  const ofAcme = isGateway && isChallengedByHttp(vars.gateway.tls) ? acmePorts : {};
  const isMeasured = hosts.some(isMonitor) || vars.monitoring.scrape_from.length > 0;
  const taken: Record<number, string> = {
    ...(isMeasured && exporterPorts),
    ...ofAcme,
    22: 'SSH listens',
    [connection.port ?? 22]: 'SSH listens',
  };
  return ports.flatMap(([path, port], at) => {
    const [first] = ports.slice(0, at).find(([, other]) => other === port) ?? [];
    const why = taken[port] ? `where ${taken[port]}` : first && `as ${first.join('.')} is`;
    return why === undefined ? [] : { path, what: `${path.join('.')} is ${port}, ${why}` };
  });
}

/** Versions and paths of the other generation: they need its configuration. */
function generationFaults({ generation: own, images, snapshot, node_binary }: RawVariables): Fault[] {
  const named: {
    path: Path;
    value: string | undefined;
    of: (generation: Generation) => readonly string[];
  }[] = [
    { path: ['images', 'node'], value: tagOf(images.node), of: ({ versions }) => [versions.node] },
    { path: ['images', 'prover'], value: tagOf(images.prover), of: ({ versions }) => [versions.prover] },
    {
      path: ['snapshot', 'source', 'ref'],
      value: snapshot.source?.ref,
      of: ({ versions, sourceTag }) => [versions.node, sourceTag],
    },
    { path: ['node_binary'], value: node_binary, of: ({ nodeBinary }) => [nodeBinary] },
  ];
  return named.flatMap(({ path, value, of }) => {
    if (value === undefined) return [];
    const other = generationNames.find((name) => of(generations[name]).includes(value));
    if (other === undefined || of(generations[own]).includes(value)) return [];
    return {
      path,
      what: `${path.join('.')} is of the ${other} generation, and generation is ${own}`,
      hint: `leave out ${path[0] === 'images' ? 'the tag' : 'the key'}: the default is that of the ${own} generation`,
    };
  });
}

/** A tag may mean another image when it is pulled than when its signature is looked at. */
function signatureFaults({ images, image_keys: keys = {} }: RawVariables): Fault[] {
  return (['node', 'prover', 'database'] as const)
    .filter((name) => keys[name] !== undefined && !images[name].includes('@'))
    .map((name) => ({
      path: ['images', name],
      what: `images.${name} has no digest, and image_keys.${name} is there: a signature is of a digest`,
      hint: 'add it behind the name, as in registry.example/owner/name@sha256:…; docker buildx imagetools inspect NAME prints it',
    }));
}

/**
 * The older generation takes a plain-HTTP address of layer 1 (spec part 2, older configuration). Of
 * several addresses, the HAProxy of the Database+Sync server uses its own alone.
 */
function layer1Faults(hosts: readonly Host[], { name, vars: { generation, network } }: Host): Fault[] {
  const { l1_rpc_url: url = '', l1_rpc_urls: urls } = network;
  const server = hosts.find(({ groups: own }) => own.includes('database'));
  if (urls && server && !isDeepStrictEqual(urls, server.vars.network.l1_rpc_urls)) {
    return [
      {
        path: ['network', 'l1_rpc_urls'],
        what: `network.l1_rpc_urls of ${name} differs from that of ${server.name}, which chooses for all`,
        hint: 'write it once, for all hosts; a host that needs another layer 1 has l1_rpc_url',
      },
    ];
  }
  if (generation !== 'older' || !/^https:/i.test(url)) return [];
  return [
    {
      path: ['network', 'l1_rpc_url'],
      what: 'network.l1_rpc_url is https://, and the older generation needs a plain-HTTP address',
      hint: 'name an address that starts with http://, or several addresses in l1_rpc_urls, which the node reaches by HTTP',
    },
  ];
}
