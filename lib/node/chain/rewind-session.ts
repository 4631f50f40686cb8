import type { Reader } from '../../engine/host/host.ts';
import { ok, refused, type Verdict } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import { sqlLiteral } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';

/** The application name of the session in which a rewind deletes. */
export const rewindSession = 'rpc-node-rewind';

/**
 * No rewind deletes in the state database of a host. PostgreSQL goes on with a deletion whose
 * client was killed, and may commit it hours later.
 *
 * @returns ok where the database does not answer, too: nothing can write there then
 */
export async function noRewindDeletes(host: Reader, vars: Variables): Promise<Verdict> {
  const state = stateDatabase(vars);
  const answer = await host.sql(
    state,
    `select pid from pg_stat_activity where application_name = ${sqlLiteral(rewindSession)} and datname = current_database()`,
  );
  const pid = answer.ok ? answer.rows[0]?.[0] : undefined;
  if (!pid) return ok;
  const { container, user, database } = state;
  return refused(
    `a rewind still deletes in the state database (pid ${pid})`,
    `wait until it has ended, or end it, and nothing is deleted: docker exec ${container} psql -U ${user} -d ${database} -c "select pg_terminate_backend(${pid})"`,
  );
}
