import { createHash } from 'node:crypto';
import { product } from '../server/product.ts';

/**
 * A replica's slot on the database server. A slot's name has a-z, 0-9 and _, up to 63 bytes.
 *
 * @param name of the replica
 */
export function slotOf(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 6);
  const start = `${product}_replica_${name}`.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');
  return `${start.slice(0, 50)}_${hash}`;
}
