import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { stateDatabase } from '../databases/databases.ts';
import { verifyingWords } from '../databases/tls-files.ts';
import { databaseRole } from '../monitor/statistics-role.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { unlessItEnds } from './former-server.ts';
import { slotOf } from './slot.ts';

const script = readFileSync(new URL('../../../templates/host/standby.sh', import.meta.url), 'utf8');

/**
 * The replay of the log that the server wrote during the copy, and the wait until the replica has
 * caught up. Seconds.
 */
const longestReplay = 12 * 3600;
/** A replica with less to replay is hardly behind. Bytes. */
const caughtUpWithin = 16 * 1024 ** 2;

/**
 * A replica follows the Database+Sync server of the inventory, with a slot and a password of its
 * own.
 */
export function followsTheServer({ vars, hosts, host }: Context<Variables>): Resource {
  const { name, connection, vars: ofServer } = databaseHost(hosts);
  const { user, database } = vars.credentials.state;
  const source = [connection.address, ofServer.ports.state_db, slotOf(host.name), verifyingWords(vars)];
  const words = ['standby', user, database, ...source];
  const stdin = new Secret(`${vars.replica.password?.reveal()}\n`);
  return databaseRole(`state-db follows that of ${name}`, script, words, { stdin });
}

/** A replica has replayed the log of its copy. */
export function standbyAnswers(context: Context<Variables>): Resource {
  return reached(context, 'state-db answers', 'select true');
}

/** A replica is hardly behind its server. */
export function hasCaughtUp(context: Context<Variables>): Resource {
  return reached(
    context,
    `state-db has caught up with ${databaseHost(context.hosts).name}`,
    `select coalesce((select pg_wal_lsn_diff(latest_end_lsn, pg_last_wal_replay_lsn()) < ${caughtUpWithin}
        from pg_stat_wal_receiver where status = 'streaming'), false)`,
  );
}

/**
 * @param query a select of one value, t once it is so
 */
function reached(context: Context<Variables>, name: string, query: string): Resource {
  const { vars } = context;
  return eventually(
    name,
    async (host) => {
      const answer = await host.sql(stateDatabase(vars), `${query}, pg_is_in_recovery()`);
      if (!answer.ok) return unknownUntil('state-db has replayed the log of the copy, and answers SQL');
      const [isReached, follows] = answer.rows[0] ?? [];
      const verdict = isReached === 't' ? ok : drift('it receives nothing, or replays what it received');
      return follows === 'f' ? unlessItEnds(context, verdict) : verdict;
    },
    {
      seconds: longestReplay,
      giveUp: async (host) => {
        await ensureContainerRuns(host, 'state-db');
        await refuseHopelessWait(context, host);
      },
    },
  );
}

/** The server has dropped what the replica did not fetch in time. In the words of PostgreSQL 15. */
const dropped = /has already been removed|invalidated/;
/** The replica has what the server never had, as after a switch, a recovery or another snapshot. */
const otherHistory =
  /is ahead of the WAL flush position|not in this server's history|behind recovery timeline|system identifier differs|forked off current database system timeline|not a child of database system timeline/;
const unreachable = 'could not connect to the primary server: ';
/** Reasons that no wait removes, in the words of libpq and PostgreSQL 15. */
const hopeless = /Permission denied|certificate|authentication failed|pg_hba|does not exist|SSL error/;
/** So often the same words since the last start, reload or stream: the server may just restart. */
const complaints = 3;

/**
 * @throws Failure where the log that the replica needs will never come, or the server refuses this
 * replica, or this replica the server
 */
async function refuseHopelessWait({ vars, hosts }: Context<Variables>, host: Reader): Promise<void> {
  const { name } = databaseHost(hosts);
  // What is older may be of a server that it followed before.
  const log =
    await host.$`docker logs --tail 50 state-db 2>&1 | tac | sed -E '/starting PostgreSQL|reloading configuration files|started streaming WAL/q'`;
  const again = `copy it again: docker rm -f state-db, remove ${dataFolder(vars, 'state-db')}, then deploy`;
  const gap = log.lines().find((line) => dropped.test(line));
  if (gap)
    throw new Failure(`the server does not have the log that this replica needs: ${gap}`, {
      hint: `${again}. backup.most_kept is the limit`,
    });
  const fork = log.lines().find((line) => otherHistory.test(line));
  if (fork) throw new Failure(`state-db has another history than that of ${name}: ${fork}`, { hint: again });
  const reasons = log.lines().flatMap((line) => line.split(unreachable).slice(1));
  const [reason = ''] = reasons;
  if (!hopeless.test(reason) || reasons.filter((each) => each === reason).length < complaints) return;
  throw new Failure(`state-db cannot follow ${name}: ${reason}`, {
    hint: `a deploy without --limit brings roles, passwords and certificates to ${name} first`,
  });
}
