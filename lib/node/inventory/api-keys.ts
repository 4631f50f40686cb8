import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { ApiKey, RawVariables } from '../variables/variables.ts';

/**
 * A key is a part of a path, of a query or of a header, unescaped. Fewer characters could be
 * guessed from outside, and from the hash on a gateway.
 */
const allowed = {
  pattern: /^[A-Za-z0-9_-]{1,256}$/,
  reason: 'only A-Z a-z 0-9 _ - are safe in a path, a query and a header, up to 256 of them',
  least: 20,
  hint: 'make one: openssl rand -hex 32',
};

/**
 * The API keys of a gateway with their secrets, sorted by name; for other hosts none.
 *
 * @param problems where all that is wrong is added
 */
export async function readKeys(
  inventory: LoadedInventory<RawVariables>,
  { name: host, groups, vars }: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<readonly ApiKey[]> {
  if (!groups.includes('gateway')) return [];
  const entries = Object.entries(vars.gateway.keys).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const read = entries.map(async ([name, { key, ...own }]): Promise<ApiKey | undefined> => {
    const where = inventory.placeOf(host, ['gateway', 'keys', name, 'key']);
    const question = { name: `gateway.keys.${name}.key`, where, allowed };
    try {
      return { ...own, name, key: await inventory.readSecret(key, question) };
    } catch (error) {
      problems.push(...problemsIn(error));
    }
    return undefined;
  });
  const keys = (await Promise.all(read)).filter((key) => key !== undefined);
  const first = new Map<string, string>();
  for (const { name, key } of keys) {
    const other = first.get(key.reveal());
    if (other === undefined) {
      first.set(key.reveal(), name);
      continue;
    }
    const where = inventory.placeOf(host, ['gateway', 'keys', name, 'key']);
    problems.push(new Problem(`gateway.keys.${name}.key is that of ${other}, too`, { where }));
  }
  return keys;
}
