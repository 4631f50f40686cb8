import { role } from '../lib/engine/resource/role.ts';
import { balancerServes } from '../lib/node/gateway/balancer.ts';
import { notDrained } from '../lib/node/gateway/drain.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A gateway as it is without the RPC server of the option `host`. */
export default role<Variables>('gateway-without', (context) => {
  const name = String(context.given.host);
  const hosts = context.hosts.filter((host) => host.name !== name);
  // A server of this name that is added later is not drained.
  return [...balancerServes({ ...context, hosts }), notDrained(`${name} is not drained`, name)];
});
