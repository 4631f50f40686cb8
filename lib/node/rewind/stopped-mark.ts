import { product } from '../server/product.ts';

/**
 * An empty file, made when a rewind stops sync, and removed when it starts sync. After a killed run
 * the next one sees by the file that no operator has stopped sync.
 */
export const stoppedMark = `/var/lib/${product}/sync-stopped-for-rewind`;
