import { drift, expectation, ok, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { databaseHost } from '../lib/node/variables/database-host.ts';
import { postgresVersion } from '../lib/node/variables/generation.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** An RPC server reaches the state database, before anything is started that would only wait for it and end. */
export default role<Variables>('database-reachable', ({ hosts }) => {
  const { name, connection, vars } = databaseHost(hosts);
  const port = vars.ports.state_db;
  return [
    expectation(
      `state database on ${name} answers`,
      async (host) => {
        const answer = await host.$({
          timeoutSeconds: 8,
        })`pg_isready --host ${connection.address} --port ${port} --timeout 5`;
        if (answer.ok) return ok;
        if (answer.exitCode === 127) return unknownUntil(`postgresql-client-${postgresVersion} is installed`);
        // By pg_isready's own codes: 1 it is starting, 2 no answer.
        if (answer.exitCode === 1)
          return drift(`${connection.address}:${port} refuses connections, as a server does that is starting`);
        return unknownUntil(
          `state-db is running on ${name} and port ${port} of ${connection.address} can be reached from here`,
        );
      },
      {
        hint: `see docker ps on ${name}, and firewalls between the two servers; ${name} lets in whom its role firewall knows (--role firewall), under the inventory's address or firewall.connects_from`,
      },
    ),
  ];
});
