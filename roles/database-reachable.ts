import { drift, expectation, ok, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { acceptsLogins } from '../lib/node/databases/log-in.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { postgresVersion } from '../lib/node/variables/generation.ts';
import { stateHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** An RPC server reaches the state database. It is checked before components start that would wait for it and end. */
export default role<Variables>('database-reachable', async (context) => {
  const { name, connection, vars } = stateHost(context.hosts, context.host);
  // Its own containers reach it in their network.
  if (context.host.name === name) return [];
  const port = vars.ports.state_db;
  return [
    expectation(`state database on ${name} answers`, {
      check: async (host) => {
        const answer = await host.$({
          timeoutSeconds: 8,
        })`pg_isready --host ${connection.address} --port ${port} --timeout 5`;
        if (answer.ok) return ok;
        if (answer.exitCode === 127) return unknownUntil(`postgresql-client-${postgresVersion} is installed`);
        // Exit codes of pg_isready: 1 the server refuses connections, 2 no answer.
        if (answer.exitCode === 1)
          return drift(`${connection.address}:${port} refuses connections: it may be starting`);
        return unknownUntil(
          `state-db is running on ${name} and port ${port} of ${connection.address} can be reached from here`,
        );
      },
      hint: `check docker ps on ${name}, and firewalls between the two servers; role firewall of ${name} (--role firewall) allows the inventory's addresses, or firewall.connects_from`,
    }),
    acceptsLogins(context, ['state', 'prover'], (await renderHost(context)).services),
  ];
});
