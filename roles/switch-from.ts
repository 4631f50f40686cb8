import { role } from '../lib/engine/resource/role.ts';
import { formerServerEnds, formerServerIsReplica } from '../lib/node/switch/former-server.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The former server has ended, and is a replica. In a play of all replicas only the former server
 * changes.
 */
export default role<Variables>('switch-from', (context) =>
  context.given.to === undefined ? [] : [formerServerEnds(context), formerServerIsReplica(context)],
);
