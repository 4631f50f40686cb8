import { role } from '../lib/engine/resource/role.ts';
import { backupPrograms, recoveryConf, recoveryProgram } from '../lib/node/backup/programs.ts';
import { recoverySettings } from '../lib/node/backup/settings.ts';
import { askedFolder } from '../lib/node/snapshot/asked-folder.ts';
import { physicalIsWanted, physicalSnapshotIsTaken } from '../lib/node/snapshot/physical-taken.ts';
import { archivesAreWanted, snapshotIsTaken } from '../lib/node/snapshot/taken.ts';
import { snapshotIsUploaded } from '../lib/node/snapshot/uploaded.ts';
import { isOfStorage } from '../lib/node/variables/s3.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * A snapshot of the databases is in the folder that option --to names: both archives, of one
 * moment, or with --physical the files of their server in pieces; and a manifest. A folder in a
 * storage gets it from a folder of the host.
 */
export default role<Variables>('take-snapshot', (context) => {
  const folder = askedFolder(context);
  if (folder === undefined) return [];
  const recovery = {
    program: recoveryProgram,
    settings: recoveryConf,
    files: [...backupPrograms(), recoverySettings(context)],
  };
  const isPhysical = context.given.physical !== undefined;
  const take = (own: string, before?: string) =>
    isPhysical
      ? physicalSnapshotIsTaken(context, own, recovery, before)
      : snapshotIsTaken(context, own, before);
  const { s3 } = context.vars.snapshot;
  if (!s3 || !isOfStorage(folder)) return take(folder);
  const isWanted = isPhysical ? physicalIsWanted(context) : archivesAreWanted(context);
  return snapshotIsUploaded(context, s3, folder, { take, isWanted });
});
