import { hostOfUrl, isLoopback, notOneHost, usualAddress } from '../../engine/inventory/address.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Fault } from '../variables/fault.ts';
import { serviceNames } from '../variables/services.ts';
import type { RawVariables } from '../variables/variables.ts';

/**
 * Faults in where the trusted sequencer and layer 1 are. The node asks them from a container; of
 * several addresses of layer 1 it is the HAProxy of the Database+Sync server that asks.
 *
 * @param served `servedPlaces` of all hosts
 */
export function chainAddressFaults(
  { network }: Pick<RawVariables, 'network'>,
  served: ReturnType<typeof servedPlaces>,
): Fault[] {
  const { trusted_sequencer_url, l1_rpc_url, l1_rpc_urls = [] } = network;
  const ofNode = Object.entries({ trusted_sequencer_url, l1_rpc_url }).flatMap(([key, url]) => {
    const host = hostOf(url);
    return fault(['network', key], host, isOwn(host) ?? notOneHost(host) ?? follower(served, url));
  });
  const ofHaproxy = l1_rpc_urls.flatMap((url, at) => {
    const host = hostOf(url);
    return fault(['network', 'l1_rpc_urls', String(at)], host, notOneHost(host) ?? follower(served, url));
  });
  return [...ofNode, ...ofHaproxy];
}

/**
 * Warnings for a chain at loopback, which is the container itself where the node asks. HAProxy asks
 * several addresses of layer 1 from the server: loopback reaches a provider there.
 */
export function chainsAtLoopback({ hosts, placeOf }: LoadedInventory<RawVariables>): Problem[] {
  return hosts.flatMap(({ name, vars: { network } }) => {
    const { trusted_sequencer_url, l1_rpc_url } = network;
    return Object.entries({ trusted_sequencer_url, l1_rpc_url }).flatMap(([key, url]) => {
      const host = hostOf(url);
      if (!isLoopback(host)) return [];
      const what = `network.${key} is at ${host}, which is the container itself where the node asks it`;
      return [new Problem(what, { where: placeOf(name, ['network', key]), hint })];
    });
  });
}

const hint = 'name the address at which the containers of this server reach the other server';

/** Other rules refuse what is no address. */
function hostOf(url = ''): string {
  return URL.canParse(url) ? hostOfUrl(url) : '';
}

function isOwn(host: string): string | undefined {
  if (!(serviceNames as readonly string[]).includes(host)) return undefined;
  return 'a container of this deployment: the node follows another';
}

/** Where RPC servers and gateways of this deployment serve: `ADDRESS PORT`, and the name of the host. */
export function servedPlaces(hosts: LoadedInventory<RawVariables>['hosts']): ReadonlyMap<string, string> {
  return new Map(
    hosts.flatMap(({ name, groups, connection, vars: { ports, gateway } }) => {
      const served = [
        ...(groups.includes('rpc') ? [ports.rpc_http, ports.rpc_websocket] : []),
        ...(groups.includes('gateway') ? [gateway.http, gateway.websocket] : []),
      ];
      return served.map((port) => [`${usualAddress(connection.address)} ${port}`, name] as const);
    }),
  );
}

/** A server of this deployment that would be asked for what it gets from there itself. */
function follower(served: ReturnType<typeof servedPlaces>, url = ''): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { port, protocol } = new URL(url);
  const host = served.get(`${hostOf(url)} ${port || (protocol === 'https:' ? 443 : 80)}`);
  return host && `where ${host} of this deployment serves: the node follows another`;
}

function fault(path: readonly string[], host: string, is: string | undefined): Fault[] {
  if (is === undefined) return [];
  return [{ path, what: `${path.join('.')} is at ${host}, ${is}`, hint }];
}
