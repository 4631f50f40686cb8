import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * What is at an address that is not the address of one host. The ranges are those of RFC 6890, RFC
 * 5771 and RFC 4291.
 */
const ranges = {
  'the address of every interface': listOf(['0.0.0.0', 8, 'ipv4'], ['::', 128, 'ipv6']),
  'a multicast address': listOf(['224.0.0.0', 4, 'ipv4'], ['ff00::', 8, 'ipv6']),
  'a broadcast address, or a reserved one': listOf(['240.0.0.0', 4, 'ipv4']),
  'a link-local address, which has a meaning on one interface only': listOf(['fe80::', 10, 'ipv6']),
};

const loopback = listOf(['127.0.0.0', 8, 'ipv4'], ['::1', 128, 'ipv6']);

type Range = readonly [first: string, bits: number, family: 'ipv4' | 'ipv6'];

function listOf(...subnets: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [first, bits, family] of subnets) list.addSubnet(first, bits, family);
  return list;
}

/**
 * The usual notation of an address: `127.1` and `0x7f000001` are 127.0.0.1, as programs that
 * connect read them, and so is `::ffff:127.0.0.1`.
 *
 * @param text an IP address, or a host name
 * @returns a host name in small letters, without a dot at its end
 */
export function usualAddress(text: string): string {
  const isV6 = text.includes(':');
  const url = `http://${isV6 ? `[${text}]` : text}/`;
  const host = (URL.canParse(url) ? new URL(url).hostname : text)
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  const [, high = '', low = ''] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host) ?? [];
  if (high === '') return host;
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

/**
 * The host of a URL, in the usual notation.
 *
 * @throws TypeError for what is no URL
 */
export function hostOfUrl(url: string): string {
  return usualAddress(new URL(url).hostname);
}

/**
 * Whether only a host itself reaches an address: `127.0.0.1`, `::1`, `localhost`, however they are
 * spelt.
 */
export function isLoopback(text: string): boolean {
  const address = usualAddress(text);
  if (isIP(address) === 0)
    return /^(.*\.)?localhost(\.localdomain)?$|^ip6-(localhost|loopback)$/.test(address);
  return loopback.check(address, familyOf(address));
}

/**
 * What an address is where it is not that of one host, such as `a multicast address`; undefined
 * for one that may be.
 */
export function notOneHost(text: string): string | undefined {
  const address = usualAddress(text);
  if (isIP(address) === 0) return undefined;
  const [is] = Object.entries(ranges).find(([, list]) => list.check(address, familyOf(address))) ?? [];
  return is;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
