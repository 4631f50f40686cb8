import { command } from '../../engine/host/step.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { drift, ok, type Resource, refused, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { formerServer, nobodyHasMore } from './nobody-has-more.ts';
import { readPosition } from './position.ts';

/** Seconds. */
const replayLimit = 120;

/** The former server ends as soon as the replica has received its log. Replay takes longer. */
export function receivedIsReplayed({ vars }: Context<Variables>): Resource {
  return eventually(
    'state-db has replayed what it received',
    async (host) => {
      const position = await readPosition(host, vars);
      if ('error' in position) return unknownUntil('state-db answers SQL');
      const { follows, has, replayed } = position;
      return !follows || replayed >= has ? ok : drift(`${has - replayed} bytes are left`);
    },
    { seconds: replayLimit },
  );
}

/**
 * The Database+Sync server of the inventory accepts writes. No other server can accept writes, and
 * none has log that it lacks, as far as the hosts can be checked.
 */
export function acceptsWrites(context: Context<Variables>): Resource {
  const { hosts, vars } = context;
  const { user, database } = vars.credentials.state;
  return {
    name: 'state-db accepts writes',
    check: async (host) => {
      const position = await readPosition(host, vars);
      if ('error' in position) return unknownUntil('state-db answers SQL');
      const { follows, source } = position;
      if (!follows) return ok;
      const former = formerServer(hosts, position);
      if (!former && source) {
        const hint =
          'keep the former server in the inventory, in group replica; if it is dead, --assume-stopped names it';
        return refused(`it follows ${source}, which is no host of the inventory`, hint);
      }
      const promote = 'select pg_promote(true, 60)';
      return drift(`it follows ${former ?? 'no server'}`, [
        command({
          timeoutSeconds: 120,
        })`docker exec state-db psql -XAtq -v ON_ERROR_STOP=1 -U ${user} -d ${database} -c ${promote}`,
      ]);
    },
    everyHost: nobodyHasMore(context),
  };
}
