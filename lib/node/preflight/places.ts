import { usualAddress } from '../../engine/inventory/address.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/** A server that containers connect to. */
export interface Server {
  /** An address in its usual notation, or a name. */
  readonly host: string;
  /** In the words of an operator, such as `the trusted sequencer`. */
  readonly whose: string;
}

/** One port of it. */
export interface Place extends Server {
  readonly port: number;
}

type Deployment = Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>;

/** The chains that a node follows. */
export function chainsOf({ network }: Variables): readonly Place[] {
  return [
    placeOf(network.trusted_sequencer_url, 'the trusted sequencer'),
    placeOf(network.l1_rpc_url, 'layer 1'),
  ];
}

/**
 * The state database of a host; undefined for its own, which containers reach in their network.
 */
export function stateDatabaseOf({ host, hosts }: Deployment): Place | undefined {
  const { name, connection, vars } = stateHost(hosts, host);
  if (name === host.name) return undefined;
  return {
    host: usualAddress(connection.address),
    port: vars.ports.state_db,
    whose: `the state database on ${name}`,
  };
}

/**
 * All servers that containers of the deployment may need, and the other hosts of the inventory.
 */
export function serversOf({ hosts, vars }: Deployment): readonly Server[] {
  const own = hosts.map(({ name, connection }) => ({
    host: usualAddress(connection.address),
    whose: `the address of ${name}`,
  }));
  return [...own, ...chainsOf(vars)];
}

function placeOf(url: string, whose: string): Place {
  const { hostname, port, protocol } = new URL(url);
  const standard = protocol === 'https:' ? 443 : 80;
  return { host: usualAddress(hostname.replace(/^\[(.*)\]$/, '$1')), port: Number(port || standard), whose };
}
