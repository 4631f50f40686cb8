import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import { stateDatabase } from './databases.ts';

/**
 * The databases of state-db sort text as they did when their indexes were made. The rules are those of the C library in the image, and an
 * image of the same name can come with another one: an index on text then misses rows. PostgreSQL keeps the version of each database
 * (https://www.postgresql.org/docs/15/sql-alterdatabase.html, "REFRESH COLLATION VERSION"); without one its rules never change.
 */
export function collationsAgree(vars: Variables): Resource {
  const { user } = vars.credentials.state;
  const target = stateDatabase(vars);
  return expectation('state-db sorts text as its indexes do', {
    severity: 'should',
    check: async (host) => {
      const answer = await host.sql(
        target,
        `select datname, datcollversion, coalesce(pg_database_collation_actual_version(oid), 'none')
        from pg_database where datcollversion is distinct from pg_database_collation_actual_version(oid) and datcollversion is not null
        order by 1`,
      );
      // A database that does not answer is the matter of another resource.
      if (!answer.ok || answer.rows.length === 0) return ok;
      const differ = answer.rows.map(
        ([name, made, now]) => `${name} was made with version ${made} of the sorting rules, and the image has ${now}`,
      );
      return drift(differ.join('; '));
    },
    hint: `go back to the image that made them (images.database by digest). Or make the indexes again, which locks their tables, on the server that writes: docker exec state-db reindexdb -U ${user} --all, then ALTER DATABASE … REFRESH COLLATION VERSION for each`,
  });
}
