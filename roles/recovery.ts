import { role } from '../lib/engine/resource/role.ts';
import { askedRecovery } from '../lib/node/recovery/asked.ts';
import { drillPasses, resultOfDrill } from '../lib/node/recovery/drill.ts';
import { copyIsFetched } from '../lib/node/recovery/fetched.ts';
import { recoveryIsOffered } from '../lib/node/recovery/offered.ts';
import { recoveryCanBeReceived } from '../lib/node/recovery/received.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The databases as they were at a time are offered by the backup host, and the Database+Sync server
 * stops for them (`recovery-data`). Or a drill of it.
 */
export default role<Variables>('recovery', async (context) => {
  const asked = askedRecovery(context);
  if (asked === undefined) return [];
  const isBackup = context.host.groups.includes('backup');
  if (asked.isDrill) return isBackup ? [drillPasses(context.vars, asked.time), resultOfDrill()] : [];
  if (!isBackup) return recoveryCanBeReceived(context, asked);
  const fetched = asked.fromStorage ? await copyIsFetched(context, asked.time) : [];
  return [...fetched, ...recoveryIsOffered(context, asked)];
});
