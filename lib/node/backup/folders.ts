import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';

/** The repository below `paths.data`, and the results of its checks. */
export const backupFolder = ({ paths }: Pick<Variables, 'paths'>) => `${paths.data}/backup`;
export const resultsFolder = `/var/lib/${product}/backup`;
