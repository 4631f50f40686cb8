import { role } from '../lib/engine/resource/role.ts';
import { askedFolder } from '../lib/node/snapshot/asked-folder.ts';
import { snapshotIsTaken } from '../lib/node/snapshot/taken.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * A snapshot of the databases is in the folder that option --to names: both archives, of one
 * moment, and their manifest.
 */
export default role<Variables>('take-snapshot', (context) => {
  const folder = askedFolder(context);
  return folder === undefined ? [] : snapshotIsTaken(context, folder);
});
