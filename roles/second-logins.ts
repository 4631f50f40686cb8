import { role } from '../lib/engine/resource/role.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { temporaryLoginsAreThere } from '../lib/node/databases/temporary-login.ts';
import { hasFormer } from '../lib/node/variables/rotation.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** In a rotation: the state and the prover database have second roles with the new passwords. */
export default role<Variables>('second-logins', (context) =>
  hasFormer(context.vars)
    ? [temporaryLoginsAreThere(context, ['state', 'prover'], stateDatabase(context.vars))]
    : [],
);
