import type { SqlTarget } from '../../engine/host/host.ts';
import { checkedAgainAfter } from '../../engine/resource/change.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';

/** A server may have to replay its log after a crash. Seconds. */
const startLimit = 600;

/** Of both database containers (spec part 2). Compose sets them; what came of it is looked at. */
export const databaseCpuShares = 4096;

/** Where the chain state is asked, as its owner, who is the server's superuser as well. */
export function stateDatabase({ credentials }: Variables): SqlTarget {
  return { container: 'state-db', user: credentials.state.user, database: credentials.state.database };
}

/** Where the prover's hash store is asked: on the same server, as the same superuser. */
export function proverDatabase({ credentials }: Variables): SqlTarget {
  return { container: 'state-db', user: credentials.state.user, database: credentials.prover.database };
}

/**
 * A database container that has to accept connections by TCP. The image's first start runs a temporary server that listens on its
 * socket alone and is about to stop, so the socket proves nothing.
 */
export function acceptsConnections(container: 'state-db' | 'pool-db'): Resource {
  return checkedAgainAfter(
    eventually(
      `${container} accepts connections`,
      async (host) => {
        const [state, answer] = await Promise.all([
          host.container(container),
          host.$({ timeoutSeconds: 20 })`docker exec ${container} pg_isready --host 127.0.0.1 --port 5432 2>/dev/null`,
        ]);
        if (!state?.running) return unknownUntil(`${container} is running`);
        return answer.ok ? ok : drift(answer.text() || 'no answer');
      },
      { seconds: startLimit, giveUp: (host) => ensureContainerRuns(host, container) },
    ),
    container,
  );
}
