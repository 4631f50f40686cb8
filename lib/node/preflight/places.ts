import { hostOfUrl, usualAddress } from '../../engine/inventory/address.ts';
import { parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost, stateHost } from '../variables/hosts.ts';
import { choosesLayer1, layer1Urls } from '../variables/layer1.ts';
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

/** The chains that a node follows, where containers themselves connect to them. */
export function chainsOf({ host, hosts, vars }: Deployment): readonly Place[] {
  const sequencer = sequencerOf(vars);
  if (!choosesLayer1(vars)) return [sequencer, ...providersOf(vars)];
  const server = databaseHost(hosts);
  // HAProxy on the server itself connects to the providers, and a deploy starts it.
  if (server.name === host.name) return [sequencer];
  const address = usualAddress(server.connection.address);
  const whose = `layer 1, by HAProxy on ${server.name}`;
  return [sequencer, { host: address, port: server.vars.ports.layer1, whose }];
}

function sequencerOf({ network }: Variables): Place {
  return placeOf(network.trusted_sequencer_url, 'the trusted sequencer');
}

function providersOf(vars: Variables): readonly Place[] {
  return layer1Urls(vars).map((url) => placeOf(url, 'layer 1'));
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
  return [...own, sequencerOf(vars), ...providersOf(vars)];
}

/**
 * Addresses and networks of the inventory that the host itself exchanges packets with. Names are
 * left out. So are the lists of clients, which may be containers of the host.
 */
export function listedAddresses({ host: { groups }, hosts, vars }: Deployment): readonly Server[] {
  const { registry, network, snapshot, disk_alert } = vars;
  const all = (networks: readonly string[], whose: string) => networks.map((host) => ({ host, whose }));
  const servers: readonly (readonly [url: string | undefined, whose: string])[] = [
    [registry && `https://${registry.address}`, 'the registry of images'],
    [network.genesis.url, 'the server of the genesis file'],
    ...(groups.includes('database')
      ? ([
          [snapshot.state?.url, 'the server of the state snapshot'],
          [snapshot.prover?.url, 'the server of the prover snapshot'],
          [snapshot.s3?.endpoint, 'the storage of snapshots'],
        ] as const)
      : []),
    [disk_alert.webhook, 'the webhook of the disk alert'],
  ];
  return [
    // Files on the host, buckets and the word `journal` are no addresses.
    ...servers.flatMap(([url = '', whose]) => (/^https?:/.test(url) ? placeOf(url, whose) : [])),
    ...hosts.flatMap(({ name, vars: { firewall: own } }) =>
      all(own.connects_from ?? [], `in firewall.connects_from of ${name}`),
    ),
  ].filter(({ host }) => parseIpNetwork(host) !== undefined);
}

function placeOf(url: string, whose: string): Place {
  const { port, protocol } = new URL(url);
  const standard = protocol === 'https:' ? 443 : 80;
  return { host: hostOfUrl(url), port: Number(port || standard), whose };
}
