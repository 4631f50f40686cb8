import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import type { RawVariables } from '../variables/variables.ts';

const hint = 'the address that the provider gives you, such as https://rpc.provider.example/v2/KEY';

/** Its parts go into HAProxy's files unescaped. */
const allowed = {
  pattern: /^https?:\/\/[A-Za-z0-9.-]+(?::\d{1,5})?(?:\/[\w.~!$&'()*+,;=:/?%-]*)?$/,
  reason: 'it is a web address (http:// or https://) without a user name',
  hint,
};

/**
 * The address of the provider that a gateway falls back to.
 *
 * @param problems where all that is wrong is added
 * @returns undefined without one, for other hosts, or with a problem
 */
export async function readFallback(
  inventory: LoadedInventory<RawVariables>,
  { name, groups, vars }: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<Secret | undefined> {
  const { fallback } = vars.gateway;
  if (fallback === undefined || !groups.includes('gateway')) return undefined;
  const where = inventory.placeOf(name, ['gateway', 'fallback']);
  try {
    const address = await inventory.readSecret(fallback, { name: 'gateway.fallback', where, allowed });
    if (URL.canParse(address.reveal())) return address;
    problems.push(new Problem('gateway.fallback is no web address', { where, hint }));
  } catch (error) {
    problems.push(...problemsIn(error));
  }
  return undefined;
}
