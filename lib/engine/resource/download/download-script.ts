import { readFileSync } from 'node:fs';
import { dirname } from 'node:path/posix';
import { shellSettings } from '../../host/shell-settings.ts';
import { inRootsFolder } from '../../host/step-script.ts';

const program = readFileSync(new URL('../../../../templates/host/download.sh', import.meta.url), 'utf8');

/** The limit of aria2 for one server. */
export const mostDownloadConnections = 16;

/** A file to fetch. */
export interface Source {
  readonly url: string;
  readonly path: string;
  /** Hex. */
  readonly sha256: string;
  /** Number of pieces that are fetched in parallel. */
  readonly connections: number;
}

/**
 * The download script with its settings. It refuses a folder in which another user than root can
 * change names.
 *
 * @param status file on the host in which the script shows its phase
 */
export function downloadScript(source: Source, status: string): string {
  return `${shellSettings({ ...source, status })}${inRootsFolder(dirname(source.path))}\n${program}`;
}
