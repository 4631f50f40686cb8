import type { SqlTarget } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Credentials } from '../variables/variables.ts';
import { sqlLiteral, unknownWithoutAnswer } from './postgres.ts';

/**
 * The prover's database and user. The init script creates them, which PostgreSQL's image runs on
 * an empty data directory only, so another data directory may lack them.
 *
 * @param server any database of the server, for its catalogs
 */
export function proverDatabaseIsThere(server: SqlTarget, { user, database }: Credentials): Resource {
  return expectation(`prover database ${database} belongs to ${user}`, {
    check: async (host) => {
      const [container, result] = await Promise.all([
        host.container(server.container),
        host.sql(
          server,
          `select (select pg_get_userbyid(datdba) from pg_database where datname = ${sqlLiteral(database)}),
                  exists (select 1 from pg_roles where rolname = ${sqlLiteral(user)}),
                  current_setting('listen_addresses') <> ''`,
        ),
      ]);
      if (!result.ok) return unknownWithoutAnswer(server.container, container, result.error);
      const [owner, role, listens] = result.rows[0] ?? [];
      // The temporary server of the image's first start answers before the init script has ended.
      if (listens === 'f') return unknownUntil(`${server.container} accepts connections`);
      const cause = 'the data directory was not initialized with the init script';
      if (role !== 't') return drift(`user ${user} does not exist: ${cause}`);
      if (!owner) return drift(`database ${database} does not exist: ${cause}`);
      return owner === user ? ok : drift(`it belongs to ${owner}`);
    },
    hint: `run the init script by hand, docker exec ${server.container} psql -U ${server.user} -d ${server.database} -f /docker-entrypoint-initdb.d/init_prover_db.sql, or start from an empty data directory`,
  });
}
