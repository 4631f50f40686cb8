import { role } from '../lib/engine/resource/role.ts';
import { drained, notDrained } from '../lib/node/gateway/drain.ts';
import { serves } from '../lib/node/gateway/serves.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The RPC server of the option `host` gets no clients by this gateway, or, with `undo`, gets them
 * again.
 */
export default role<Variables>('drained', ({ vars: { gateway }, given }) => {
  const name = String(given.host);
  return given.undo === undefined
    ? [drained(`${name} is drained`, name, String(given.reason ?? 'by the operator'), gateway)]
    : [notDrained(`${name} is not drained`, name), serves(name, gateway)];
});
