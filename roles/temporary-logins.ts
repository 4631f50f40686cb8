import { role } from '../lib/engine/resource/role.ts';
import { poolDatabase } from '../lib/node/databases/databases.ts';
import { fileHasTemporaryLogins, readsTemporaryLogins } from '../lib/node/databases/move-login.ts';
import {
  passwordsAreChanged,
  temporaryLoginsAreAccepted,
  temporaryLoginsAreThere,
} from '../lib/node/databases/temporary-login.ts';
import { hasFormer } from '../lib/node/variables/rotation.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * In a rotation: the server logs in to its databases by second roles, with the new passwords. Then
 * its own pool database changes that of the usual role, which nobody uses.
 */
export default role<Variables>('temporary-logins', (context) => {
  const { host, vars } = context;
  if (!hasFormer(vars)) return [];
  const nodes = [
    ...(host.groups.includes('database') ? ['sync'] : []),
    ...(host.groups.includes('rpc') ? ['json-rpc'] : []),
  ];
  return [
    temporaryLoginsAreAccepted(context, ['state', 'prover']),
    temporaryLoginsAreThere(context, ['pool'], poolDatabase(vars)),
    fileHasTemporaryLogins(context, 'prover.config.json'),
    fileHasTemporaryLogins(context, 'node.config.toml'),
    readsTemporaryLogins(context, 'prover', 'prover.config.json'),
    ...nodes.map((name) => readsTemporaryLogins(context, name, 'node.config.toml')),
    passwordsAreChanged(context, ['pool'], poolDatabase(vars)),
  ];
});
