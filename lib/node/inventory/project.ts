import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Inventories of this project are found by their names in `inventory/`. A missing file in `.lab` is one that the lab creates. */
export const projectInventories = {
  folder: join(root, 'inventory'),
  missingFileHint: (path: string): string | undefined =>
    resolve(path).startsWith(join(root, '.lab') + sep) ? 'the lab makes this file: npm run lab:up' : undefined,
};
