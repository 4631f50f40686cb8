import { role } from '../lib/engine/resource/role.ts';
import { balancerServes } from '../lib/node/gateway/balancer.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** HAProxy in front of the RPC servers: it sends each client to one that may serve. */
export default role<Variables>('gateway', (context) => balancerServes(context));
