import type { PortGroup } from './packet-filter-rules.ts';

/** The first packet of a connection from another host. */
export interface Packet {
  /** As iptables and nftables name it, or its number. */
  readonly protocol: string;
  readonly port?: number;
}

/**
 * The packets of these ports and protocols that something refuses.
 *
 * @returns ports such as `443/tcp`, and protocols without ports such as `protocol 112`
 */
export function refusedOf(
  groups: readonly Pick<PortGroup, 'ports' | 'protocols'>[],
  letsIn: (packet: Packet) => boolean,
): readonly string[] {
  return groups.flatMap(({ ports, protocols = [] }) => [
    ...ports
      .filter(({ protocol, published }) => !letsIn({ protocol, port: Number.parseInt(published, 10) }))
      .map(({ protocol, published }) => `${published}/${protocol}`),
    ...protocols
      .filter((number) => !letsIn({ protocol: String(number) }))
      .map((number) => `protocol ${number}`),
  ]);
}

const numbers: Readonly<Record<string, string>> = { tcp: '6', udp: '17', icmp: '1', vrrp: '112' };

/** Whether two words mean the same protocol: `vrrp` is 112. */
export function isSameProtocol(one: string, other: string): boolean {
  return (numbers[one] ?? one) === (numbers[other] ?? other);
}
