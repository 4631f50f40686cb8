import { readFileSync } from 'node:fs';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { product } from '../server/product.ts';
import { resultsFolder } from './folders.ts';

const library = `/usr/local/lib/${product}`;

/** Makes one base backup. */
export const baseBackup = `${library}/base-backup ${resultsFolder}`;

/** Checks the repository. */
export const backupCheck = `${library}/backup-check`;

/** Recovers from the repository, on the backup host. */
export const recoveryProgram = `${library}/recovery`;

/** The programs are on the backup host. */
export function backupPrograms(): Resource[] {
  return ['base-backup', 'backup-check', 'recovery'].map((name) =>
    file(`${library}/${name}`)
      .content(readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8'))
      .mode(0o755),
  );
}
