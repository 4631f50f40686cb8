import { product } from '../server/product.ts';

/** The results of the checks of the repository. */
export const resultsFolder = `/var/lib/${product}/backup`;
