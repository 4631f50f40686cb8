import { acceptedFile } from '../../engine/resource/file/accepted-file.ts';
import type { Content } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { product } from '../server/product.ts';

/** Folder of the files of Prometheus and Alertmanager on the monitor. */
export const monitorFolder = `/etc/${product}/monitor`;

/** A file of `monitorFolder` before its place. */
interface Candidate {
  readonly name: string;
  readonly content: string | Content;
  /** The command that checks the file. */
  readonly judge: readonly string[];
  /** Where the operator corrects it. */
  readonly source: string;
}

/**
 * A file that its own checker has accepted. The user `prometheus` reads it: it may hold secrets.
 */
export function acceptedByItsChecker({ name, ...candidate }: Candidate): Resource {
  return acceptedFile({ path: `${monitorFolder}/${name}`, ...candidate, mode: 0o640, group: 'prometheus' });
}

/** A folder of data, which the programs' own user writes to. */
export function folderOfPrometheus(path: string): Resource {
  return directory(path).mode(0o750).owner('prometheus').group('prometheus');
}
