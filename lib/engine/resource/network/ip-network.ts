import { BlockList, isIP } from 'node:net';

/** An address or a network, as the tools of the kernel print it: `10.0.0.0/8`, `fd00::1/128`. */
export interface IpNetwork {
  readonly family: 4 | 6;
  readonly text: string;
  /** Whether it is every address of its family. */
  readonly everything: boolean;
}

/**
 * @param text an address or a network; `10.0.0.5/8` is 10.0.0.0/8.
 * @returns undefined for others, also for a zone: `fe80::1%eth0`
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [, address = '', given] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  if (family !== 4 && family !== 6) return undefined;
  const bits = family === 4 ? 32 : 128;
  const prefix = given === undefined ? bits : Number(given);
  if (prefix > bits) return undefined;
  const host = BigInt(bits - prefix);
  const first = (numberOf(address, family) >> host) << host;
  return {
    family,
    text: `${family === 4 ? dotted(first) : colons(first)}/${prefix}`,
    everything: prefix === 0,
  };
}

/**
 * Whether an address is in a network.
 *
 * @param network such as `10.0.0.0/8`
 * @param address an IP address; a name is in none
 */
export function networkHas(network: string, address: string): boolean {
  const [first = '', prefix] = network.split('/');
  const family = isIP(first);
  if (family === 0 || isIP(address) !== family) return false;
  const list = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(first, Number(prefix), type);
  return list.check(address, type);
}

function numberOf(address: string, family: 4 | 6): bigint {
  if (family === 4) return joined(address.split('.').map(Number), 8n);
  // URL knows every notation. Its result leaves out the longest run of zeros only.
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = [], tail = []] = short.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = short.includes('::') ? Array.from({ length: 8 - head.length - tail.length }, () => '0') : [];
  return joined(
    [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16)),
    16n,
  );
}

function joined(groups: readonly number[], width: bigint): bigint {
  return groups.reduce((sum, group) => (sum << width) + BigInt(group), 0n);
}

function dotted(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
}

function colons(address: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((address >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  );
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}
