import { readProgram } from '../../engine/host/script.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { metricsProgram } from '../monitor/textfiles.ts';
import { product } from '../server/product.ts';
import { resultsFolder } from './folders.ts';

/** Where programs of the backup host are. */
export const library = `/usr/local/lib/${product}`;

/** Makes one base backup. */
export const baseBackup = `${library}/base-backup ${resultsFolder}`;

/** Checks the repository. */
export const backupCheck = `${library}/backup-check`;

/** Recovers from the repository, on the backup host. */
export const recoveryProgram = `${library}/recovery`;

/** Its settings. */
export const recoveryConf = `/etc/${product}/recovery.conf`;

const of = (name: string) => new URL(`../../../templates/host/${name}`, import.meta.url);

/** Shell scripts of templates/host in one text. The last one is the program, the others its functions. */
export const template = (...names: readonly string[]) =>
  readProgram(...names.map((name) => of(`${name}.sh`)));

/** A program is on the backup host. */
export const program = (name: string, text: string): Resource =>
  file(`${library}/${name}`).content(text).mode(0o755);

/** The programs are on the backup host. */
export function backupPrograms(): Resource[] {
  return [
    program('cut-backup', readProgram(of('cut-backup.py'))),
    program('base-backup', template('as-user', 'base-backups', 'cut-base', 'base-backup')),
    program('backup-check', metricsProgram('base-backups', 'timeline', 'backup-check')),
    program(
      'recovery',
      template('as-user', 'unpack-recovery', 'cut-base', 'base-backups', 'timeline', 'recovery'),
    ),
  ];
}
