import type { Given, shared } from '../../engine/command-line/command-line.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { givenInventory } from '../../node/inventory/project.ts';

/**
 * The inventory that a command line names, and the hosts of its `--limit`.
 *
 * @param connects whether the hosts will be connected to
 * @throws Problem, Problems where either is wrong
 */
export async function givenHosts(
  { inventory: name, limit, identity }: Pick<Given<typeof shared>, 'inventory' | 'limit' | 'identity'>,
  connects: boolean,
  unlock = unlockOnTerminal(identity),
) {
  const inventory = await loadDeployment(givenInventory(name), { unlock, connects });
  return { inventory, chosen: limit === undefined ? inventory.hosts : selectHosts(inventory, limit) };
}
