import { role } from '../lib/engine/resource/role.ts';
import { refuseNeeded } from '../lib/node/removal/needed.ts';
import { madeThingsAreRemoved } from '../lib/node/removal/removed.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * What the tool has made on an RPC server or a replica is gone; data, packages and Docker stay.
 */
export default role<Variables>('removed', async (context) => {
  refuseNeeded(context);
  return [await madeThingsAreRemoved(context)];
});
