import { readProgram } from '../../engine/host/script.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { metricsProgram } from '../monitor/textfiles.ts';
import { product } from '../server/product.ts';
import { resultsFolder } from './folders.ts';

const library = `/usr/local/lib/${product}`;

/** Makes one base backup. */
export const baseBackup = `${library}/base-backup ${resultsFolder}`;

/** Checks the repository. */
export const backupCheck = `${library}/backup-check`;

/** Recovers from the repository, on the backup host. */
export const recoveryProgram = `${library}/recovery`;

/** Its settings. */
export const recoveryConf = `/etc/${product}/recovery.conf`;

/** The programs are on the backup host. */
export function backupPrograms(): Resource[] {
  const program = (name: string, text: string) => file(`${library}/${name}`).content(text).mode(0o755);
  const of = (name: string) => new URL(`../../../templates/host/${name}`, import.meta.url);
  return [
    program('cut-backup', readProgram(of('cut-backup.py'))),
    program('base-backup', readProgram(of('as-user.sh'), of('cut-base.sh'), of('base-backup.sh'))),
    program('backup-check', metricsProgram('backup-check')),
    program(
      'recovery',
      readProgram(...['as-user', 'unpack-recovery', 'cut-base', 'recovery'].map((name) => of(`${name}.sh`))),
    ),
  ];
}
