import { role } from '../lib/engine/resource/role.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { newPasswordsAreAccepted, passwordsAreChanged } from '../lib/node/databases/temporary-login.ts';
import { hasFormer } from '../lib/node/variables/rotation.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * In a rotation: the roles of the inventory get the new passwords, when no server logs in by them.
 */
export default role<Variables>('new-passwords', (context) => {
  const { host, vars } = context;
  if (!hasFormer(vars)) return [];
  return host.groups.includes('database')
    ? [passwordsAreChanged(context, ['state', 'prover'], stateDatabase(vars))]
    : [newPasswordsAreAccepted(context, ['state', 'prover'])];
});
