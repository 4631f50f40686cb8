import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { readSecretText } from '../../engine/inventory/secrets-in-values.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { isOfDomain } from '../variables/acme.ts';
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
    const question = { name: 'gateway.fallback', where, allowed };
    const address = await readSecretText(fallback, question, inventory.readSecret);
    if (!address || !URL.canParse(address.reveal())) {
      problems.push(new Problem('gateway.fallback is no web address', { where, hint }));
      return undefined;
    }
    const own = ownServer(inventory, new URL(address.reveal()).hostname);
    if (own === undefined) return address;
    const what = `gateway.fallback is ${own}, which cannot answer in place of itself`;
    problems.push(new Problem(what, { where, hint }));
  } catch (error) {
    problems.push(...problemsIn(error));
  }
  return undefined;
}

/** Requests would go in a circle, or to a server that the gateway has taken out. */
function ownServer({ hosts }: LoadedInventory<RawVariables>, address: string): string | undefined {
  for (const { name, connection, groups, vars } of hosts) {
    const shared = vars.gateway.shared?.address.replace(/\/.*/, '');
    const names = groups.includes('gateway') ? [shared, ...(vars.gateway.tls?.names ?? [])] : [];
    if (names.some((own) => own === address || (own !== undefined && isOfDomain(address, own))))
      return 'an address of these gateways';
    if (connection.address === address) return `${name} of this inventory`;
  }
  return undefined;
}
