import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { postgresVersion } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The state database of another server answers.
 *
 * @param server the host of that database
 */
export function stateDatabaseAnswers({ name, connection, vars }: InventoryHost<Variables>): Resource {
  const { address } = connection;
  const port = vars.ports.state_db;
  return expectation(`state database on ${name} answers`, {
    check: async (host) => {
      const answer = await host.$({
        timeoutSeconds: 8,
      })`pg_isready --host ${address} --port ${port} --timeout 5`;
      if (answer.ok) return ok;
      if (answer.exitCode === 127) return unknownUntil(`postgresql-client-${postgresVersion} is installed`);
      // Exit codes of pg_isready: 1 the server refuses connections, 2 no answer.
      if (answer.exitCode === 1) return drift(`${address}:${port} refuses connections: it may be starting`);
      return unknownUntil(
        `state-db is running on ${name} and port ${port} of ${address} can be reached from here`,
      );
    },
    hint: `check docker ps on ${name}, and firewalls between the two servers; role firewall of ${name} (--role firewall) allows the inventory's addresses, or firewall.connects_from`,
  });
}
