import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What has a name in a folder, or else in the nearest folder above that has it.
 *
 * @param {string} folder absolute path
 * @param {string} name
 * @returns {string | undefined} its path
 */
export function nearest(folder, name) {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : nearest(dirname(folder), name);
}
