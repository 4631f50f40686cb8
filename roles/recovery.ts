import { role } from '../lib/engine/resource/role.ts';
import { askedRecovery } from '../lib/node/recovery/asked.ts';
import { drillPasses } from '../lib/node/recovery/drill.ts';
import { recoveryIsOffered } from '../lib/node/recovery/offered.ts';
import { recoveryIsReceived } from '../lib/node/recovery/received.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The databases as they were at a time: offered by the backup host, and unpacked on
 * the Database+Sync server. Or a drill of it.
 */
export default role<Variables>('recovery', (context) => {
  const asked = askedRecovery(context);
  if (asked === undefined) return [];
  const isBackup = context.host.groups.includes('backup');
  if (asked.isDrill) return isBackup ? [drillPasses(context.vars, asked.time)] : [];
  return isBackup ? recoveryIsOffered(context, asked.time) : recoveryIsReceived(context, asked);
});
