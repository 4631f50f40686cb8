import { usualAddress } from '../../engine/inventory/address.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';

/** RFC 1123, 2.1. */
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/**
 * Addresses and names by which clients reach the database server of a host: the address of the
 * inventory, the name of the host, that of the container, and the host itself.
 */
export function namesOfServer({ name, connection }: Pick<InventoryHost<unknown>, 'name' | 'connection'>) {
  const own = [usualAddress(connection.address), ...(hostName.test(name) ? [name] : [])];
  return [...new Set([...own, 'state-db', 'localhost', '127.0.0.1'])];
}
