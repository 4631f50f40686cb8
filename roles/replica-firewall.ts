import { role } from '../lib/engine/resource/role.ts';
import { publishedPorts } from '../lib/node/server/packet-rules.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * After all RPC servers have moved to the replicas that they read, no other one reaches a replica.
 */
export default role<Variables>('replica-firewall', async (context) =>
  context.host.groups.includes('replica') ? [await publishedPorts(context)] : [],
);
