import { role } from '../lib/engine/resource/role.ts';
import { askedRecovery } from '../lib/node/recovery/asked.ts';
import { recoveryIsNewest } from '../lib/node/recovery/offered.ts';
import { recoveryIsReceived } from '../lib/node/recovery/received.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * After the databases were stopped: the backup host offers what they have written last, and the
 * Database+Sync server unpacks all of it.
 */
export default role<Variables>('recovery-data', (context) => {
  const asked = askedRecovery(context);
  if (asked === undefined || asked.isDrill) return [];
  if (!context.host.groups.includes('backup')) return [recoveryIsReceived(context, asked)];
  return asked.time === 'latest' && !asked.fromStorage ? [recoveryIsNewest(context.vars)] : [];
});
