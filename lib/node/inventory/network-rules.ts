import { basename } from 'node:path/posix';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { archiveName } from '../variables/archive-name.ts';
import type { Fault } from '../variables/fault.ts';
import type { RawVariables } from '../variables/variables.ts';

type Host = InventoryHost<RawVariables>;

/** The region of the main network's synchronizer (spec part 1, operating rules). */
const mainRegion = 'singapore';

/**
 * The rules of one network: the names of its archives, and the operating rules of the main
 * network.
 */
export function networkFaults(host: Host): Fault[] {
  const ofMain = host.vars.network.kind === 'main' ? [...regionFaults(host), ...alertFaults(host)] : [];
  return [...archiveFaults(host), ...ofMain];
}

/** An archive with the name of another: of the other network, or of the other database. */
function* archiveFaults({ groups, vars: { network, snapshot } }: Host): Generator<Fault> {
  if (!groups.includes('database')) return;
  const { kind } = network;
  const others = { main: 'test', test: 'main' } as const;
  for (const store of ['state', 'prover'] as const) {
    const { url } = snapshot[store] ?? {};
    if (url === undefined) continue;
    const name = basename(new URL(url).pathname);
    const path = ['snapshot', store, 'url'];
    const hint = `the ${store} archive of the ${kind} network is called ${archiveName(kind, store)}`;
    const isOther = [archiveName(others[kind], 'state'), archiveName(others[kind], 'prover')].includes(name);
    if (isOther || (kind === 'main' && name.startsWith('testnet_'))) {
      yield { path, what: `${path.join('.')} is an archive of the ${others[kind]} network: ${name}`, hint };
    } else if (name === archiveName(kind, store === 'state' ? 'prover' : 'state')) {
      yield { path, what: `${path.join('.')} is the archive of the other database: ${name}`, hint };
    }
  }
}

function* regionFaults({ name, groups, vars: { network, region } }: Host): Generator<Fault> {
  if (!groups.includes('database')) return;
  const isRight = (text: string) => text.toLowerCase() === mainRegion;
  const rule = `the synchronizer of the main network has to be in ${mainRegion}`;
  if (network.region !== undefined && !isRight(network.region)) {
    yield { path: ['network', 'region'], what: `network.region is ${network.region}, and ${rule}` };
  }
  const hint = `deploy it to a server there; the inventory says so by region: ${mainRegion}`;
  if (region === undefined) yield { path: [], at: 'host', what: `${name} has no region, and ${rule}`, hint };
  else if (!isRight(region))
    yield { path: ['region'], what: `the region of ${name} is ${region}, and ${rule}`, hint };
}

function* alertFaults({ vars }: Host): Generator<Fault> {
  if (vars.disk_alert.webhook !== undefined) return;
  yield {
    path: ['disk_alert', 'webhook'],
    what: 'disk_alert.webhook is missing, and the main network demands alerts about disks',
    hint: 'set the address for a POST of each alert; webhook: journal says that something else reads the journal of the servers',
  };
}
