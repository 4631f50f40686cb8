import { dirname } from 'node:path/posix';
import { readProgram } from '../../host/script.ts';
import { shellSettings } from '../../host/shell-settings.ts';
import { inRootsFolder } from '../../host/step-script.ts';
import { withoutQuery } from '../network/http.ts';

const template = (name: string) => new URL(`../../../../templates/host/${name}.sh`, import.meta.url);
const program = readProgram(template('fetch'), template('download'));

/** More would not be faster, and providers take them for an attack. */
export const mostDownloadConnections = 16;

/** A file to fetch. */
export interface Source {
  readonly url: string;
  /** Its name in messages; default: the URL without its query. */
  readonly shown?: string;
  readonly path: string;
  /** Hex. */
  readonly sha256: string;
  /** Number of ranges that are fetched in parallel. */
  readonly connections: number;
  /** File on the host with settings of curl that sign the requests for a storage. */
  readonly keys?: string;
}

/**
 * The download script with its settings. It refuses a folder in which another user than root can
 * change names.
 *
 * @param status file on the host in which the script shows its phase
 */
export function downloadScript({ shown, keys = '', ...source }: Source, status: string): string {
  const settings = { ...source, shown: shown ?? withoutQuery(source.url), KEYS: keys, status };
  return `${shellSettings(settings)}${inRootsFolder(dirname(source.path))}\n${program}`;
}
