import { role } from '../lib/engine/resource/role.ts';
import { beforeEngine } from '../lib/node/packages/engine.ts';
import { packagesOfRoles } from '../lib/node/packages/of-roles.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The packages of the host's later roles, in one transaction of apt. In a run without this role
 * each of them installs its own.
 */
export default role<Variables>('packages', (context) => {
  const all = packagesOfRoles(context);
  if (all === undefined) return [];
  return [...(context.roles?.has('docker') === false ? [] : beforeEngine), all];
});
