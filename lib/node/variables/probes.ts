import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { domainOf } from './acme.ts';
import type { Variables } from './variables.ts';

/** An address at which clients reach the gateways. */
export interface Probe {
  /** The name of the gateway, or the address that the gateways share. */
  readonly instance: string;
  readonly group: 'gateway';
  readonly url: string;
  /** The name that the certificate has to have, where there is TLS. */
  readonly serverName: string | undefined;
  /** A given certificate with those of its issuers, in PEM. */
  readonly certificate: string | undefined;
}

/**
 * The addresses that clients use, in the order of the inventory: the shared one of the gateways
 * where they have one, and the gateways' own otherwise.
 */
export function probesOf(hosts: readonly InventoryHost<Variables>[]): Probe[] {
  const found = hosts.flatMap((host) => {
    if (!host.groups.includes('gateway')) return [];
    const { shared, tls, http } = host.vars.gateway;
    const address = shared?.address.replace(/\/\d+$/, '') ?? host.connection.address;
    const authority = `${address.includes(':') ? `[${address}]` : address}:${http}`;
    const probe: Probe = {
      instance: shared ? address : host.name,
      group: 'gateway',
      url: `${tls ? 'https' : 'http'}://${authority}`,
      serverName: tls && nameOf(tls.names),
      certificate: tls && 'certificate' in tls ? tls.certificate : undefined,
    };
    return [[probe.instance, probe] as const];
  });
  return [...new Map(found).values()];
}

/** A single name where there is one; otherwise one of those of a domain. */
const nameOf = (names: readonly string[]) =>
  names.find((name) => name === domainOf(name)) ?? names[0]?.replace('*', 'rpc');
