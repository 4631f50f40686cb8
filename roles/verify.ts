import { role } from '../lib/engine/resource/role.ts';
import { blockGrows, givesBlockNumber } from '../lib/node/chain/installation-check.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The installation check of spec part 1.7, on the RPC host itself. */
export default role<Variables>('verify', ({ vars }) => {
  const url = `http://localhost:${vars.ports.rpc_http}`;
  return [givesBlockNumber(url, vars.verify), blockGrows(url, vars.verify)];
});
