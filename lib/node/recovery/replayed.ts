import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import type { Variables } from '../variables/variables.ts';

/** Time limit for the replay of the write-ahead log since the base backup. Seconds. */
const longestReplay = 12 * 3600;

/** The server has replayed the write-ahead log, and is on its own. */
export function logIsReplayed(vars: Variables): Resource {
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
