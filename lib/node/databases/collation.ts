import type { Reader } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import { stateDatabase } from './databases.ts';

const query = `select datname, datcollversion, coalesce(pg_database_collation_actual_version(oid), 'none')
  from pg_database where datcollversion is distinct from pg_database_collation_actual_version(oid) and datcollversion is not null
  order by 1`;

/**
 * The databases of state-db that do not sort text as they did when their indexes were made. The
 * rules are those of the C library in the image, and an image of the same name can come with
 * another one: an index on text then misses rows. PostgreSQL keeps the version of each database
 * (https://www.postgresql.org/docs/15/sql-alterdatabase.html, "REFRESH COLLATION VERSION");
 * without one its rules never change.
 *
 * @returns one sentence for each; none where state-db does not answer
 */
export async function otherCollations(host: Reader, vars: Variables): Promise<readonly string[]> {
  const answer = await host.sql(stateDatabase(vars), query);
  if (!answer.ok) return [];
  return answer.rows.map(
    ([name, made, now]) =>
      `${name} was made with version ${made} of the sorting rules, and the image has ${now}`,
  );
}

/** The databases of state-db sort text as their indexes do. */
export function collationsAgree(vars: Variables): Resource {
  return expectation('state-db sorts text as its indexes do', {
    severity: 'should',
    check: async (host) => {
      const others = await otherCollations(host, vars);
      return others.length === 0 ? ok : drift(others.join('; '));
    },
    hint: `go back to the image that made them (images.database by digest). Or make the indexes again, which locks their tables, on the server that writes: docker exec state-db reindexdb -U ${vars.credentials.state.user} --all, then ALTER DATABASE … REFRESH COLLATION VERSION for each`,
  });
}
