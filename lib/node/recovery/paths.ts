import { jobDirectory } from '../../engine/resource/job/job.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

/** The unit of rsync on the backup host, while a recovery is fetched. */
export const servingUnit = `${product}-recovery-serve`;

/** The same with encryption: of rsync, and of stunnel before it. */
export const servingUnitTls = `${servingUnit}-tls`;

/** Key and certificate of that stunnel: in memory. */
export const certificateFile = `${jobDirectory}/recovery-server.pem`;

/** The password of that rsync, on both hosts. */
export const passwordFile = `${jobDirectory}/recovery-password`;

/** The unit that fetches a copy from the storage to the backup host. */
export const fetchUnit = `${product}-recovery-fetch`;

/** Keys of the storage, and private keys of age: in memory, and only until the fetch starts. */
export const copyKeyFile = `${jobDirectory}/recovery-copy-keys`;

/** What the backup host offers for a recovery: links to files of its repository. */
export function offeredFolder(vars: Variables): string {
  return `${dataFolder(vars, 'backup')}/recovery`;
}

/** The copy that a recovery from the storage has fetched to the backup host. */
export function fetchedFolder(vars: Variables): string {
  return `${dataFolder(vars, 'backup')}/from-storage`;
}

/** The file in that folder that says to which time all of it was fetched. */
export function markOfFetch(folder: string): string {
  return `${folder}/fetched`;
}

/** The file in a folder that says to which time it is a recovery. */
export function markIn(folder: string): string {
  return `${folder}/rpc-node-recovered`;
}
