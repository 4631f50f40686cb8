import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { Variables } from './variables.ts';

/** The addresses that a host's connections to the other hosts come from. */
export function addressesOf({ connection, vars }: InventoryHost<Variables>): readonly string[] {
  return vars.firewall.connects_from ?? [connection.address];
}
