import type { InventoryHost } from '../../engine/inventory/inventory.ts';

/** The one Database+Sync server of a deployment. @throws TypeError where there is not exactly one */
export function databaseHost<V>(hosts: readonly InventoryHost<V>[]): InventoryHost<V> {
  const [host, ...others] = hosts.filter((candidate) => candidate.groups.includes('database'));
  if (!host || others.length > 0) throw new TypeError('a deployment has exactly one host in group database');
  return host;
}
