import type { Reader } from '../../engine/host/host.ts';
import { bytes } from '../../engine/output/units.ts';
import { drift, type EveryHost, ok, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { formerServer } from './nobody-has-more.ts';

/** Log that the new server may have to replay while nothing writes. Bytes. */
const mostToReplay = 16 * 1024 ** 2;

/**
 * Before anything stops: the new server has nearly all of the log of the former one, which is the
 * host of `context`. A new server that accepts writes already has another history.
 *
 * @param state of the former server, for the hint
 */
export function newServerIsClose(
  { host: former, hosts, vars }: Context<Variables>,
  state: string,
): EveryHost {
  const { name: target } = databaseHost(hosts);
  return {
    name: `${target} has nearly all of the log`,
    check: async (host, _unseen, reach) =>
      host.name === target ? judge(host, vars, hosts, former.name, reach(former.name)) : ok,
    hint: `${state}. If it is behind, wait until status says that it has caught up; if both accept writes, one of them has to be copied again (docs/replicas.md, "Add, rebuild, remove")`,
  };
}

/** The log between the former server and the new one. */
interface Distance {
  readonly follows: boolean;
  /** The address that it follows. */
  readonly source: string | undefined;
  /** Bytes that are received and not replayed. undefined where the new server receives nothing. */
  readonly behind: number | undefined;
}

async function judge(
  host: Reader,
  vars: Variables,
  hosts: Context<Variables>['hosts'],
  former: string,
  onFormer: Reader | undefined,
): Promise<Verdict> {
  const [formerStateDb, distance] = await Promise.all([
    onFormer?.container('state-db'),
    readDistance(host, vars),
  ]);
  if ('error' in distance) return drift(`its state-db does not answer: ${distance.error}`);
  const { follows, source, behind } = distance;
  if (!follows) return drift('it accepts writes, and so does the former server');
  // The promotion would be refused, when the former server has ended.
  if (source !== undefined && formerServer(hosts, { source }) !== former)
    return drift(`it follows ${source}, and the inventory has no such address of ${former}`);
  // A server that has ended sends nothing: the promotion compares what both have.
  if (!formerStateDb?.running) return ok;
  if (behind === undefined) return drift('it receives nothing from the former server');
  return behind <= mostToReplay ? ok : drift(`it has ${bytes(behind)} to replay`);
}

async function readDistance(host: Reader, vars: Variables): Promise<Distance | { readonly error: string }> {
  const answer = await host.sql(
    stateDatabase(vars),
    `select pg_is_in_recovery(), (select pg_wal_lsn_diff(latest_end_lsn, pg_last_wal_replay_lsn()) from pg_stat_wal_receiver
       where status = 'streaming'), substring(current_setting('primary_conninfo') from 'host=(\\S+)')`,
  );
  if (!answer.ok) return answer;
  const [follows, behind, source] = answer.rows[0] ?? [];
  return {
    follows: follows !== 'f',
    source: source ?? undefined,
    behind: behind === null || behind === undefined ? undefined : Number(behind),
  };
}
