import { role } from '../lib/engine/resource/role.ts';
import { haproxyIsNewEnough } from '../lib/node/server/haproxy-version.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * What a gateway needs of its distribution, checked before anything changes on any host. Nothing
 * here changes a host.
 */
export default role<Variables>('gateway-preflight', ({ facts }) => [haproxyIsNewEnough(facts.distribution)]);
