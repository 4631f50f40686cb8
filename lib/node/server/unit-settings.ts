import { product } from './product.ts';

/** The file with our own settings of a unit that a package has: a drop-in. */
export const unitSettings = (unit: string): string => `/etc/systemd/system/${unit}.d/${product}.conf`;
