import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import { databaseClients } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';
import { restoreUnit } from './restore.ts';
import { clientsOf, lookAtStores, type Stores } from './restored.ts';

/**
 * Databases whose data are to be replaced may not be used meanwhile. The restore itself refuses then; this is to tell it before the
 * archives are fetched, which takes hours.
 *
 * @param hosts of the inventory, to tell whose connections there are
 */
export function databasesAreFree(
  stores: Stores,
  hosts: readonly Pick<InventoryHost<Variables>, 'name' | 'connection'>[],
): Resource {
  return expectation(
    'nothing uses the databases that are to be replaced',
    async (host) => {
      const { container } = stores.state.target;
      const [seen, unit, containers, state, clients] = await Promise.all([
        lookAtStores(host, stores, true),
        host.unit(`${restoreUnit}.service`),
        host.$`docker ps --format ${'{{.Names}}'}`,
        host.container(container),
        host.sql(stores.state.target, `select distinct host(client_addr) from ${clientsOf(stores)}`),
      ]);
      if (seen.decision === 'wait') return seen.verdict;
      // A restore of ours that has begun uses them itself.
      if (seen.decision !== 'restore' || seen.started || unit.active === 'active') return ok;
      if (!clients.ok) return unknownWithoutAnswer(container, state, clients.error);
      const running = containers.lines().filter((name) => databaseClients.includes(name));
      const others = clients.rows.flatMap(([address]) => {
        const known = hosts.find(({ connection }) => connection.type === 'ssh' && connection.address === address);
        if (known) return [`${known.name} (${address})`];
        // Containers of this host have addresses that nobody knows.
        return address && running.length === 0 ? [address] : [];
      });
      const users = [...(running.length > 0 ? [`${running.join(', ')} on ${host.name}`] : []), ...others];
      return users.length === 0 ? ok : drift(`they are used by ${users.join(', ')}`);
    },
    { hint: `stop ${databaseClients.join(', ')} on all hosts first: docker stop ${databaseClients.join(' ')}` },
  );
}
