import { role } from '../lib/engine/resource/role.ts';
import { poolDatabase, stateDatabase } from '../lib/node/databases/databases.ts';
import { formerPasswordsAreGone, temporaryLoginsAreGone } from '../lib/node/databases/temporary-login.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Second roles of a rotation are removed when every server logs in by the usual ones again, also
 * those that are left over after the former passwords are forgotten.
 */
export default role<Variables>('no-second-logins', (context) => {
  const { host, hosts, vars, includes } = context;
  const servers = hosts.filter(({ groups }) => groups.includes('database') || groups.includes('rpc'));
  const isOver = servers.every(({ name }) =>
    ['configuration', 'prover', 'sync', 'json-rpc'].every((each) => includes(name, each)),
  );
  const pool = temporaryLoginsAreGone(context, ['pool'], poolDatabase(vars), isOver);
  if (!host.groups.includes('database')) return [pool];
  return [
    temporaryLoginsAreGone(context, ['state', 'prover'], stateDatabase(vars), isOver),
    pool,
    ...formerPasswordsAreGone(context, isOver),
  ];
});
