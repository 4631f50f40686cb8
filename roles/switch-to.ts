import type { Reader } from '../lib/engine/host/host.ts';
import { command } from '../lib/engine/host/step.ts';
import { eventually } from '../lib/engine/resource/kinds.ts';
import {
  describeVerdict,
  drift,
  type EveryHost,
  ok,
  type Resource,
  refused,
  unknownUntil,
  type Verdict,
} from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { noSynchronizerOn } from '../lib/node/chain/synchronizers.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { addressesOf } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { serverState } from './switch-from.ts';

/** Whether a server follows another one, which; how much log it has, and has replayed, in bytes; its newest block; whether it receives. */
const position = `select pg_is_in_recovery(), substring(current_setting('primary_conninfo') from 'host=(\\S+)'),
  pg_wal_lsn_diff(greatest(pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn()), '0/0'),
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), (select max(block_num) from state.l2block),
  exists(select 1 from pg_stat_wal_receiver where status = 'streaming')`;

/** Seconds. */
const replayLimit = 120;

const emptied =
  'it has no data directory of state-db any more. If its data is lost, shut it down, and name it by --assume-stopped';

/** The server that is promoted, as its newest check saw it. */
interface Seen {
  /** Bytes of log that it has replayed. */
  replayed: number;
  block: number;
  /** The host that it follows. */
  former: string | undefined;
}

/**
 * The Database+Sync server of the inventory accepts writes. No other server can accept writes, and none has log that it lacks, as far as
 * the hosts can be checked.
 */
export default role<Variables>('switch-to', (context) => {
  const { hosts, vars } = context;
  if (context.given.to === undefined) return [];
  const seen: Seen = { replayed: 0, block: 0, former: undefined };
  const { user, database } = vars.credentials.state;
  const resource: Resource = {
    name: 'state-db accepts writes',
    check: async (host) => {
      const answer = await host.sql(stateDatabase(vars), position);
      if (!answer.ok) return unknownUntil('state-db answers SQL');
      const [follows, address, , replayed, block] = answer.rows[0] ?? [];
      if (follows === 'f') return ok;
      const former = hosts.find((each) => [each.connection.address, ...addressesOf(each)].includes(address ?? ''));
      if (!former && address) {
        const hint =
          'keep the former server in the inventory, in group replica; if it is dead, --assume-stopped names it';
        return refused(`it follows ${address}, which is no host of the inventory`, hint);
      }
      Object.assign(seen, { replayed: Number(replayed), block: Number(block), former: former?.name });
      const promote = 'select pg_promote(true, 60)';
      return drift(`it follows ${former?.name ?? 'no server'}`, [
        command({
          timeoutSeconds: 120,
        })`docker exec state-db psql -XAtq -v ON_ERROR_STOP=1 -U ${user} -d ${database} -c ${promote}`,
      ]);
    },
    everyHost: nobodyHasMore(context, seen),
  };
  return [replayed(context), resource];
});

/** The former server ends as soon as the replica has received its log. Replay takes longer. */
function replayed({ vars }: Context<Variables>): Resource {
  return eventually(
    'state-db has replayed what it received',
    async (host) => {
      const answer = await host.sql(stateDatabase(vars), position);
      if (!answer.ok) return unknownUntil('state-db answers SQL');
      const [follows, , has, done] = answer.rows[0] ?? [];
      return follows === 'f' || Number(done) >= Number(has)
        ? ok
        : drift(`${Number(has) - Number(done)} bytes are left`);
    },
    { seconds: replayLimit },
  );
}

/** A server that is assumed to be stopped sends nothing. */
async function receivesNothing(
  host: Reader,
  vars: Variables,
  { former }: Seen,
  unseen: readonly string[],
): Promise<Verdict> {
  if (former === undefined || !unseen.includes(former)) return ok;
  const answer = await host.sql(stateDatabase(vars), position);
  return answer.ok && answer.rows[0]?.[5] === 'f' ? ok : stillReceivesFrom(former);
}

function nobodyHasMore({ host: own, vars }: Context<Variables>, seen: Seen): EveryHost {
  return {
    name: `no other server accepts writes, or has what ${own.name} lacks`,
    check: async (host, unseen) => {
      const synchronizer = await noSynchronizerOn(host, false);
      if (synchronizer.is === 'drift') {
        if (host.name === seen.former) return unknownUntil('the former server has ended');
        return drift(describeVerdict(synchronizer));
      }
      return host.name === own.name ? receivesNothing(host, vars, seen, unseen) : judge(host, vars, seen, unseen);
    },
    hint: 'this playbook stops the former server first. It must be reachable, or --assume-stopped has to name it. If another replica has more, switch to that one',
  };
}

async function judge(
  host: Reader,
  vars: Variables,
  { replayed, block, former }: Seen,
  unseen: readonly string[],
): Promise<Verdict> {
  const [state, container, answer] = await Promise.all([
    serverState(host, vars),
    host.container('state-db'),
    host.sql(stateDatabase(vars), position),
  ]);
  if (state.kind === 'none') return host.name === former ? drift(emptied) : ok;
  if (state.kind === 'unreadable') return drift(state.why);
  if (state.kind === 'primary') {
    return host.name === former
      ? unknownUntil('the former server is a replica')
      : drift('its state-db may accept writes');
  }
  if (!container?.running) {
    // A replica cannot have more log than the former server, which is checked. If that one is not checked, a stopped replica could have
    // more: its checkpoint is not the end of its log.
    if (host.name !== former) {
      return former === undefined || unseen.includes(former)
        ? drift('its state-db does not run, and may have more log: start it')
        : ok;
    }
    if (!state.isClean) return drift('its state-db did not end cleanly');
    // The checkpoint of its end is the last record of its log.
    return state.checkpoint < replayed
      ? ok
      : drift(`it has log up to ${state.checkpoint}, and the new server has replayed ${replayed}`);
  }
  if (!answer.ok) return drift(`its state-db does not answer: ${answer.error}`);
  const [, , has, , newest, receives] = answer.rows[0] ?? [];
  if (receives === 't' && former !== undefined && unseen.includes(former)) return stillReceivesFrom(former);
  if (Number(has) <= replayed) return ok;
  const more = Number(newest) - block;
  return drift(`it has ${more > 0 ? `${more} blocks` : `${Number(has) - replayed} bytes of log`} more`);
}

function stillReceivesFrom(server: string): Verdict {
  return drift(`it still receives log from ${server}, which runs`);
}
