import type { Reader } from '../../engine/host/host.ts';
import { stateDatabase } from '../databases/databases.ts';
import type { Variables } from '../variables/variables.ts';

/** How far a running state-db is. Log is counted in bytes since the begin of the database. */
export interface Position {
  /** Whether it follows another server. One that does not accepts writes. */
  readonly follows: boolean;
  /** The address of the server that it follows. undefined for one that never followed a server. */
  readonly source: string | undefined;
  /** The log that it has. */
  readonly has: number;
  /** The log that it has replayed. */
  readonly replayed: number;
  /** Its newest block. */
  readonly block: number;
  /** Whether it receives log now. */
  readonly receives: boolean;
}

/** A state-db that does not answer gives an error. */
export type Answer = Position | { readonly error: string };

/** In the order in which `readPosition` names them. */
const columns = `select pg_is_in_recovery(), substring(current_setting('primary_conninfo') from 'host=(\\S+)'),
  pg_wal_lsn_diff(greatest(pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn()), '0/0'),
  pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), (select max(block_num) from state.l2block),
  exists(select 1 from pg_stat_wal_receiver where status = 'streaming')`;

/** Asks a state-db how far it is. */
export async function readPosition(host: Reader, vars: Variables): Promise<Answer> {
  const answer = await host.sql(stateDatabase(vars), columns);
  if (!answer.ok) return answer;
  const [follows, source, has, replayed, block, receives] = answer.rows[0] ?? [];
  return {
    follows: follows !== 'f',
    source: source ?? undefined,
    has: Number(has),
    replayed: Number(replayed),
    block: Number(block),
    receives: receives === 't',
  };
}
