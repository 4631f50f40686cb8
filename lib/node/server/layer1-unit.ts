import { product } from './product.ts';

/**
 * The unit of the HAProxy that chooses the provider of layer 1, beside a gateway's on the same
 * host.
 */
export const layer1Unit = `${product}-layer1.service`;
