import type { RawVariables } from './variables.ts';

type Network = Pick<RawVariables, 'network' | 'ports'>;

/** The addresses of layer 1, the preferred one first. */
export function layer1Urls({ network }: Pick<Network, 'network'>): readonly string[] {
  return network.l1_rpc_urls ?? (network.l1_rpc_url === undefined ? [] : [network.l1_rpc_url]);
}

/** Whether HAProxy on the Database+Sync server chooses one of several providers of layer 1. */
export function choosesLayer1({ network }: Pick<Network, 'network'>): boolean {
  return network.l1_rpc_urls !== undefined;
}

/** The key of the inventory with the addresses of layer 1. */
export function layer1Key(vars: Pick<Network, 'network'>): 'l1_rpc_urls' | 'l1_rpc_url' {
  return choosesLayer1(vars) ? 'l1_rpc_urls' : 'l1_rpc_url';
}

/** The address at which the Database+Sync server itself asks the layer 1 that its node uses. */
export function layer1Url(vars: Network): string {
  return choosesLayer1(vars) ? `http://127.0.0.1:${vars.ports.layer1}` : (vars.network.l1_rpc_url ?? '');
}
