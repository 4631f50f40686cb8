import { role } from '../lib/engine/resource/role.ts';
import { networksHaveTheirSubnets } from '../lib/node/server/container-network.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The network of the containers, before the first of them starts: a network with another subnet is
 * made again, with all of them.
 */
export default role<Variables>('container-network', (context) => networksHaveTheirSubnets(context));
