import { dirname } from 'node:path';
import { nearest } from '../../engine/file/nearest.mjs';

/** The file that marks a team's own folder. Its content is not read. */
export const marker = 'rpc-playbooks.yaml';

/**
 * The nearest folder with the marker, from a folder upwards. It is JavaScript, as it is needed
 * before anything is compiled.
 *
 * @param {string} from absolute path
 * @returns {string | undefined}
 */
export function markedFolder(from) {
  const found = nearest(from, marker);
  return found && dirname(found);
}
