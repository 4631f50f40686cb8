import { role } from '../lib/engine/resource/role.ts';
import { addressIsShared } from '../lib/node/gateway/shared-address.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** An address that one of the gateways has at a time (VRRP). */
export default role<Variables>('gateway-address', (context) => addressIsShared(context));
