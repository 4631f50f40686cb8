import { role } from '../lib/engine/resource/role.ts';
import { recoveryConf, recoveryProgram } from '../lib/node/backup/programs.ts';
import { askedFolder } from '../lib/node/snapshot/asked-folder.ts';
import { physicalSnapshotIsTaken } from '../lib/node/snapshot/physical-taken.ts';
import { snapshotIsTaken } from '../lib/node/snapshot/taken.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * A snapshot of the databases is in the folder that option --to names: both archives, of one
 * moment, or with --physical the files of their server in pieces; and a manifest.
 */
export default role<Variables>('take-snapshot', (context) => {
  const folder = askedFolder(context);
  if (folder === undefined) return [];
  if (context.given.physical === undefined) return snapshotIsTaken(context, folder);
  return physicalSnapshotIsTaken(context, folder, { program: recoveryProgram, settings: recoveryConf });
});
