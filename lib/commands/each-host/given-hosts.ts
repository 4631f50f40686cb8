import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { givenInventory } from '../../node/inventory/project.ts';

/** The values of options that choose hosts and open secrets. */
interface GivenHosts {
  readonly inventory: string | undefined;
  readonly limit: string | undefined;
  readonly identity: string | undefined;
}

/**
 * The inventory that a command line names, and the hosts of its `--limit`.
 *
 * @param connects whether the hosts will be connected to
 * @throws Problem, Problems where either is wrong
 */
export async function givenHosts(
  { inventory: name, limit, identity }: GivenHosts,
  connects: boolean,
  unlock = unlockOnTerminal(identity),
) {
  const inventory = await loadDeployment(givenInventory(name), { unlock, connects });
  return { inventory, chosen: limit === undefined ? inventory.hosts : selectHosts(inventory, limit) };
}
