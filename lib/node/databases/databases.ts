import type { SqlTarget } from '../../engine/host/host.ts';
import { reachedBy } from '../../engine/resource/docker/compose-service.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';

/** After a crash a server replays its write-ahead log before it accepts connections. Seconds. */
const startLimit = 600;

/** Of both database containers (spec part 2). Compose sets them, and the roles check them. */
export const databaseCpuShares = 4096;

/** The chain state, as its owner, who is the server's superuser as well. */
export function stateDatabase({ credentials }: Variables): SqlTarget {
  return { container: 'state-db', user: credentials.state.user, database: credentials.state.database };
}

/** The prover's hash store, on the same server, as the same superuser. */
export function proverDatabase({ credentials }: Variables): SqlTarget {
  return { container: 'state-db', user: credentials.state.user, database: credentials.prover.database };
}

/** The transaction pool of a server, as its owner, who is the server's superuser as well. */
export function poolDatabase({ credentials }: Variables): SqlTarget {
  return { container: 'pool-db', user: credentials.pool.user, database: credentials.pool.database };
}

/**
 * A database container accepts connections by TCP. The image's first start runs a temporary server
 * that listens on its socket only, so the socket proves nothing.
 */
export function acceptsConnections(container: 'state-db' | 'pool-db'): Resource {
  return reachedBy(
    container,
    `${container} accepts connections`,
    async (host) => {
      const [state, answer] = await Promise.all([
        host.container(container),
        host.$({
          timeoutSeconds: 20,
        })`docker exec ${container} pg_isready --host 127.0.0.1 --port 5432 2>/dev/null`,
      ]);
      if (!state?.running) return unknownUntil(`${container} is running`);
      return answer.ok ? ok : drift(answer.text() || 'no answer');
    },
    { seconds: startLimit },
  );
}
