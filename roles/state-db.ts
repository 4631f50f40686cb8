import { ensureContainerRuns } from '../lib/engine/resource/docker/compose-service.ts';
import { cpuShares } from '../lib/engine/resource/docker/cpu-shares.ts';
import { eventually } from '../lib/engine/resource/kinds.ts';
import { drift, ok, type Resource, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { collationsAgree } from '../lib/node/databases/collation.ts';
import { directoryThatItsContainerOwns } from '../lib/node/databases/data-directory.ts';
import { acceptsConnections, databaseCpuShares, stateDatabase } from '../lib/node/databases/databases.ts';
import { acceptsLogins } from '../lib/node/databases/log-in.ts';
import { proverDatabaseIsThere } from '../lib/node/databases/prover-database.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { placeIsRemembered } from '../lib/node/server/data-disks.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The database server of the chain state and of the prover's hash store. */
export default role<Variables>('state-db', async (context) => {
  const { vars, given } = context;
  const { image, service } = await component(context, 'state-db');
  const { services } = await renderHost(context);
  return [
    image,
    directoryThatItsContainerOwns(`${vars.paths.data}/state-db`),
    ...placeIsRemembered(vars, 'state-db', `${vars.paths.data}/state-db`),
    service,
    cpuShares('state-db', databaseCpuShares),
    acceptsConnections('state-db'),
    // A recovered server accepts connections before it has replayed its log.
    ...(given['to-time'] === undefined ? [] : [recoveryHasEnded(vars)]),
    collationsAgree(vars),
    proverDatabaseIsThere(stateDatabase(vars), vars.credentials.prover),
    acceptsLogins(context, ['state', 'prover'], services),
  ];
});

/** Time limit for the replay of the write-ahead log since the base backup. Seconds. */
const longestReplay = 12 * 3600;

/** The server has replayed the write-ahead log, and is on its own. */
function recoveryHasEnded(vars: Variables): Resource {
  return eventually(
    'the database server has recovered',
    async (host) => {
      const answer = await host.sql(stateDatabase(vars), 'select pg_is_in_recovery()');
      if (!answer.ok) return unknownUntil('state-db answers SQL');
      return answer.rows[0]?.[0] === 'f' ? ok : drift('it is replaying the write-ahead log');
    },
    { seconds: longestReplay, giveUp: (host) => ensureContainerRuns(host, 'state-db') },
  );
}
