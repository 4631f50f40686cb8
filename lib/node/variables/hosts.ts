import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Variables } from './variables.ts';

/**
 * The one Database+Sync server of a deployment.
 *
 * @throws TypeError where there is not exactly one
 */
export function databaseHost<V>(hosts: readonly InventoryHost<V>[]): InventoryHost<V> {
  const [host, ...others] = hosts.filter((candidate) => candidate.groups.includes('database'));
  if (!host || others.length > 0) throw new TypeError('a deployment has exactly one host in group database');
  return host;
}

/**
 * The variables of a host of the inventory, which may have others than the host of a role.
 *
 * @throws TypeError for a name that the inventory has not
 */
export function varsOf<V>(hosts: readonly InventoryHost<V>[], { name }: Pick<InventoryHost<V>, 'name'>): V {
  const host = hosts.find((each) => each.name === name);
  if (!host) throw new TypeError(`the inventory has no host ${name}`);
  return host.vars;
}

/** A host with the variable that assigns an RPC server to a replica. */
type Assigned = InventoryHost<{ readonly replica: { readonly use?: string | undefined } }>;

/**
 * The RPC servers of each replica. A server goes to the replica that it names, any other one to
 * one with the fewest, in their order.
 */
function readersByReplica<H extends Assigned>(hosts: readonly H[]): ReadonlyMap<string, readonly H[]> {
  const replicas = hosts.filter(({ groups }) => groups.includes('replica'));
  const readers = new Map<string, H[]>(replicas.map(({ name }) => [name, []]));
  const servers = hosts.filter(({ groups }) => groups.includes('rpc') && !groups.includes('database'));
  const names = ({ vars }: H) => Number(vars.replica.use !== undefined);
  for (const host of servers.toSorted((a, b) => names(b) - names(a))) {
    const [fewest] = [...readers.values()].toSorted((a, b) => a.length - b.length);
    (names(host) ? readers.get(host.vars.replica.use ?? '') : fewest)?.push(host);
  }
  return readers;
}

/** The RPC servers that read a replica. */
export function readersOf<H extends Assigned>(hosts: readonly H[], replica: H): readonly H[] {
  return readersByReplica(hosts).get(replica.name) ?? [];
}

/** The replica that a host reads. undefined for one that uses the Database+Sync server. */
export function replicaOf<H extends Assigned>(hosts: readonly H[], { name }: Pick<H, 'name'>): H | undefined {
  const [replica] =
    [...readersByReplica(hosts)].find(([, readers]) => readers.some((each) => each.name === name)) ?? [];
  return hosts.find((host) => host.name === replica);
}

/** The host whose state database a host uses. */
export function stateHost(
  hosts: readonly InventoryHost<Variables>[],
  host: Pick<InventoryHost<Variables>, 'name'>,
): InventoryHost<Variables> {
  return replicaOf(hosts, host) ?? databaseHost(hosts);
}

/** The source addresses of a host's connections to the other hosts. */
export function addressesOf({ connection, vars }: InventoryHost<Variables>): readonly string[] {
  return vars.firewall.connects_from ?? [connection.address];
}
