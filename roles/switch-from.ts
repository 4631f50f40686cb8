import { readFileSync } from 'node:fs';
import type { Reader } from '../lib/engine/host/host.ts';
import { command } from '../lib/engine/host/step.ts';
import { bytes } from '../lib/engine/output/units.ts';
import { drift, type EveryHost, ok, type Resource, type Verdict } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const read = (name: string) => readFileSync(new URL(`../templates/host/${name}.sh`, import.meta.url), 'utf8');
const [stateScript, retireScript] = [read('server-state'), read('retire')];

/** What a Database+Sync server runs beside state-db, and a replica does not, in the order in which it is stopped. */
const besideStateDb = ['sync', 'prover', 'pool-db'];
/** Log that the new server may have to replay while nothing writes. Bytes. */
const mostToReplay = 16 * 1024 ** 2;

/**
 * Ends the former server: the host of group replica whose data directory has no standby.signal. Its other containers are removed, and it
 * becomes a replica.
 */
export default role<Variables>('switch-from', (context) => {
  const { vars } = context;
  if (context.given.to === undefined) return [];
  const seen: Seen = { runs: false };
  const isPrimary = async (host: Reader) => {
    const [state, container] = await Promise.all([serverState(host, vars), host.container('state-db')]);
    if (state.kind === 'primary') seen.runs = container?.running === true;
    return state.kind === 'primary';
  };
  const ended: Resource = {
    name: 'sync, prover and pool-db of the former server are removed',
    check: async (host) => {
      const [isFormer, ...states] = await Promise.all([
        isPrimary(host),
        ...besideStateDb.map((name) => host.container(name)),
      ]);
      const left = besideStateDb.filter((_, at) => states[at]);
      if (!isFormer || left.length === 0) return ok;
      // One after the other: the synchronizer ends what it writes while its prover is there.
      const stops = left.map((name) => command({ timeoutSeconds: 300 })`docker stop --time 120 ${name}`);
      return drift(`${left.join(', ')} are there`, [...stops, command`docker rm ${left}`]);
    },
    everyHost: newServerIsClose(context, seen, 'this run stopped nothing'),
  };
  const retired: Resource = {
    name: 'the former server is a replica',
    check: async (host) =>
      (await isPrimary(host))
        ? drift('its state-db may accept writes', [
            command({ timeoutSeconds: 400 })`sh -c ${retireScript} retire ${vars.paths.data}/state-db`,
          ])
        : ok,
    everyHost: newServerIsClose(
      context,
      seen,
      'state-db of the former server still accepts writes. This run or an earlier one removed its synchronizer: run again, or deploy with the inventory of before',
    ),
  };
  return [ended, retired];
});

/** The former server, as its newest check saw it. */
interface Seen {
  /** Whether its state-db runs. */
  runs: boolean;
}

/**
 * What the data directory of a host's state-db says.
 *
 * @returns whether the server accepts writes when it runs, whether it has ended cleanly, and its newest checkpoint, in bytes of its log
 */
export async function serverState(host: Reader, { paths }: Pick<Variables, 'paths'>) {
  const answer = await host.$`sh -c ${stateScript} server-state ${paths.data}/state-db`;
  if (!answer.ok) return { kind: 'unreadable', why: answer.stderr.trim() } as const;
  const [kind = '', state, checkpoint] = answer.text().split(' ');
  if (kind === 'none') return { kind } as const;
  const isClean = state === '1' || state === '2';
  return { kind: kind === 'standby' ? 'standby' : 'primary', isClean, checkpoint: Number(checkpoint) } as const;
}

/**
 * Before anything stops: the new server has nearly all of the log. One that accepts writes already has another history.
 *
 * @param state of the former server, for the hint
 */
function newServerIsClose({ hosts, vars }: Context<Variables>, seen: Seen, state: string): EveryHost {
  const { name: target } = databaseHost(hosts);
  return {
    name: `${target} has nearly all of the log`,
    check: async (host): Promise<Verdict> => {
      if (host.name !== target) return ok;
      const answer = await host.sql(
        stateDatabase(vars),
        `select pg_is_in_recovery(), (select pg_wal_lsn_diff(latest_end_lsn, pg_last_wal_replay_lsn()) from pg_stat_wal_receiver
           where status = 'streaming')`,
      );
      if (!answer.ok) return drift(`its state-db does not answer: ${answer.error}`);
      const [follows, behind] = answer.rows[0] ?? [];
      if (follows === 'f') return drift('it accepts writes, and so does the former server');
      // A server that has ended sends nothing: the promotion compares what both have.
      if (!seen.runs) return ok;
      if (behind === null || behind === undefined) return drift('it receives nothing from the former server');
      return Number(behind) <= mostToReplay ? ok : drift(`it has ${bytes(Number(behind))} to replay`);
    },
    hint: `${state}. If it is behind, wait until status says that it has caught up; if both accept writes, one of them has to be copied again (docs/data.md)`,
  };
}
