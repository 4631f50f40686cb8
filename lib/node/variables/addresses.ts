import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Variables } from './variables.ts';

/** The source addresses of a host's connections to the other hosts. */
export function addressesOf({ connection, vars }: InventoryHost<Variables>): readonly string[] {
  return vars.firewall.connects_from ?? [connection.address];
}
