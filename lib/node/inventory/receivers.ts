import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import type { Path } from '../../engine/inventory/located.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { secretReferencePattern } from '../../engine/inventory/secret-reference.ts';
import type { Problem } from '../../engine/problem/problem.ts';
import { isMonitor, type Receiver } from '../variables/monitoring.ts';
import type { RawVariables } from '../variables/variables.ts';

/**
 * The receivers of alerts with their secrets, for the monitor; for other hosts none, as nothing of them is needed there. Adds to the
 * problems what could not be read.
 */
export async function readReceivers(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<readonly Receiver[]> {
  if (!isMonitor(host)) return [];
  const read = async (tree: unknown, path: Path): Promise<unknown> => {
    if (Array.isArray(tree)) return Promise.all(tree.map((item, i) => read(item, [...path, i])));
    if (typeof tree === 'object' && tree !== null) {
      const entries = Object.entries(tree).map(
        async ([key, value]) => [key, await read(value, [...path, key])] as const,
      );
      return Object.fromEntries(await Promise.all(entries));
    }
    if (typeof tree !== 'string' || !secretReferencePattern.test(tree)) return tree;
    const question = { name: path.join('.'), where: inventory.placeOf(host.name, path) };
    return inventory.readSecret(tree, question).catch((error) => void problems.push(...problemsIn(error)));
  };
  return (await read(host.vars.monitoring.receivers, ['monitoring', 'receivers'])) as readonly Receiver[];
}
