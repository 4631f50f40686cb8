import { directory } from '../../engine/resource/file/directory.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { schedule } from '../../engine/resource/system/schedule.ts';
import { textfiles } from '../monitor/textfiles.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import { copyNotes } from './copy.ts';
import { foldersOfBarman, repositoryOf, resultsFolder } from './folders.ts';
import { backupCheck, baseBackup, recoveryProgram } from './programs.ts';
import { connectionToServer, oldestHours } from './settings.ts';

/** Seconds between two checks of the repository. */
const checkEvery = 60;

/** Further base backups, the check of the repository, and the drill if the inventory has one. */
export function backupSchedules({ hosts, vars }: Context<Variables>): Resource[] {
  const folder = dataFolder(vars, 'backup');
  const { every_hours, drill_hours } = vars.backup;
  const barmans = [...foldersOfBarman(vars), resultsFolder];
  // The drill has twice its own interval.
  const words = [
    `'${connectionToServer({ hosts })}'`,
    textfiles,
    resultsFolder,
    oldestHours(vars),
    2 * drill_hours,
    ...(vars.backup.copy ? [copyNotes(vars)] : []),
  ];
  const drill = schedule(`${product}-recovery-drill`, {
    every: drill_hours * 3600,
    command: `${recoveryProgram} drill ${folder}/drill latest`,
    description: 'Recovery drill',
    // Its lock, and where the engine finds the data.
    writes: [...barmans, '/run'],
    needs: ['network', 'users', 'docker', 'systemd'],
  });
  return [
    directory(resultsFolder),
    schedule(`${product}-base-backup`, {
      every: every_hours * 3600,
      command: baseBackup,
      description: 'Base backup of the databases',
      writes: barmans,
      needs: ['network', 'users'],
    }),
    schedule(`${product}-backup-check`, {
      every: checkEvery,
      command: `${backupCheck} ${repositoryOf(vars)} ${words.join(' ')}`,
      description: 'Check of the backups of the databases',
      writes: [...barmans, textfiles],
      needs: ['network', 'users'],
    }),
    ...(drill_hours > 0 ? [drill] : []),
  ];
}
