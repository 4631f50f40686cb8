import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import type { RawVariables } from '../variables/variables.ts';

/** A network with fewer bits, of either family, is no network of an operator alone. */
const leastBits = 8;

/**
 * Warnings for what an inventory leaves open to others: ports of databases for everybody, and a
 * manifest that somebody on the way could replace. Each place has one.
 */
export function openWays({ hosts, placeOf }: LoadedInventory<RawVariables>): Problem[] {
  const found = hosts.flatMap(({ name, vars }) => [
    ...openNetworks(vars).map((what) => [name, ['firewall', 'internal'], ...what] as const),
    ...plainManifest(vars).map((what) => [name, ['snapshot', 'manifest'], ...what] as const),
  ]);
  const warnings = found.map(([name, path, what, hint]) => {
    return new Problem(what, { where: placeOf(name, path), hint });
  });
  const placed = ({ where, message }: Problem) => JSON.stringify([where, message]);
  return [...new Map(warnings.map((each) => [placed(each), each])).values()];
}

function openNetworks({ firewall }: RawVariables) {
  return firewall.internal
    .filter((text) => Number(parseIpNetwork(text)?.text.split('/')[1] ?? leastBits) < leastBits)
    .map((text): [what: string, hint: string] => [
      `firewall.internal has ${text}: everybody may connect to the databases and provers`,
      'name the networks of your own machines; the hosts of the inventory are let in without it',
    ]);
}

function plainManifest({ snapshot: { manifest = '' } }: RawVariables) {
  const what =
    'snapshot.manifest comes over http://, and has the checksums of the snapshot: somebody between you and the web server can change both';
  const hint = 'use https://, or put a copy of it beside the inventory and name the folder in snapshot.from';
  return /^http:/i.test(manifest) ? [[what, hint] as [what: string, hint: string]] : [];
}
