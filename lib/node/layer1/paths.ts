import { product } from '../server/product.ts';

/** Folder of the files of the HAProxy that chooses the provider of layer 1. */
export const layer1Folder = `/etc/${product}/layer1`;

/** HAProxy sees only this folder once it runs. It is made at its start and removed at its end. */
export const layer1Chroot = `/run/${product}-layer1`;
