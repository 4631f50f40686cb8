import { role } from '../lib/engine/resource/role.ts';
import { askedRecovery } from '../lib/node/recovery/asked.ts';
import { recoveryHasItsPlace } from '../lib/node/recovery/received.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The recovered data has its place on the Database+Sync server. It is asked before the backup host
 * copies anything.
 */
export default role<Variables>('recovery-target', (context) => {
  const asked = askedRecovery(context);
  return asked === undefined || asked.isDrill ? [] : [recoveryHasItsPlace(context, asked)];
});
