import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Variables } from './variables.ts';

/** The one Database+Sync server of a deployment. @throws TypeError where there is not exactly one */
export function databaseHost<V>(hosts: readonly InventoryHost<V>[]): InventoryHost<V> {
  const [host, ...others] = hosts.filter((candidate) => candidate.groups.includes('database'));
  if (!host || others.length > 0) throw new TypeError('a deployment has exactly one host in group database');
  return host;
}

/** The source addresses of a host's connections to the other hosts. */
export function addressesOf({ connection, vars }: InventoryHost<Variables>): readonly string[] {
  return vars.firewall.connects_from ?? [connection.address];
}
