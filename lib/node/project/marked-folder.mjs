import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The file that marks a team's own folder. Its content is not read. */
export const marker = 'rpc-playbooks.yaml';

/**
 * The nearest folder with the marker, from a folder upwards. It is JavaScript, as it is needed before anything is compiled.
 *
 * @param {string} from absolute path
 * @returns {string | undefined}
 */
export function markedFolder(from) {
  if (existsSync(join(from, marker))) return from;
  return from === dirname(from) ? undefined : markedFolder(dirname(from));
}
