import { isLoopback, notOneHost, usualAddress } from '../../engine/inventory/address.ts';
import type { Fault } from '../variables/fault.ts';
import { serviceNames } from '../variables/services.ts';
import type { RawVariables } from '../variables/variables.ts';

/**
 * Faults in where the trusted sequencer and layer 1 are. The node asks them from a container, for
 * which loopback is the container itself. Several addresses of layer 1 are asked by the HAProxy of
 * the Database+Sync server, which may reach a provider on the same server by loopback.
 */
export function chainAddressFaults({ network }: Pick<RawVariables, 'network'>): Fault[] {
  const { trusted_sequencer_url, l1_rpc_url, l1_rpc_urls = [] } = network;
  const ofNode = Object.entries({ trusted_sequencer_url, l1_rpc_url }).flatMap(([key, url]) => {
    const host = hostOf(url);
    return fault(['network', key], host, isOwn(host) ?? notOneHost(host));
  });
  const ofHaproxy = l1_rpc_urls.flatMap((url, at) => {
    const host = hostOf(url);
    return fault(['network', 'l1_rpc_urls', String(at)], host, notOneHost(host));
  });
  return [...ofNode, ...ofHaproxy];
}

/** Every spelling becomes the usual one, as programs read `0x7f000001`. Other rules refuse what is no address. */
function hostOf(url = ''): string {
  return URL.canParse(url) ? usualAddress(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')) : '';
}

function isOwn(host: string): string | undefined {
  if (isLoopback(host)) return 'which is the container itself where the node asks it';
  if (!(serviceNames as readonly string[]).includes(host)) return undefined;
  return 'a container of this deployment: the node follows another';
}

function fault(path: readonly string[], host: string, is: string | undefined): Fault[] {
  if (is === undefined) return [];
  const hint = 'name the address at which the containers of this server reach the other server';
  return [{ path, what: `${path.join('.')} is at ${host}, ${is}`, hint }];
}
