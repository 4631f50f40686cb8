import { jobDirectory } from '../../engine/resource/job/job.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

/** The unit of rsync on the backup host, while a recovery is fetched. */
export const servingUnit = `${product}-recovery-serve`;

/** The password of that rsync, on both hosts. */
export const passwordFile = `${jobDirectory}/recovery-password`;

/** The data directory that is recovered on the backup host. */
export function stagedFolder(vars: Variables): string {
  return `${dataFolder(vars, 'backup')}/recovery`;
}

/** The file in a data directory that says to which time it was recovered. */
export function markIn(folder: string): string {
  return `${folder}/rpc-node-recovered`;
}
