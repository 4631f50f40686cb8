import type { PortGroup } from './packet-filter-rules.ts';
import { isSameProtocol, type Packet, refusedOf } from './packets.ts';

/** A comment or a prefix of a log, which may contain anything. */
const quoted = /"(?:\\.|[^"\\])*"/g;

/**
 * What the rules of a host refuse of its own ports, whoever has made them: a ufw, or the image of a
 * cloud, lets in what it names alone. Which addresses a rule is for does not count, so that one
 * which lets in somebody is enough.
 *
 * @param listing output of `iptables -S`
 * @param prefix begins the names of our chains, which let through what these ports are open to
 * @returns ports such as `443/tcp`, and protocols without ports such as `protocol 112`
 */
export function refusedPorts(
  listing: string,
  prefix: string,
  groups: readonly Pick<PortGroup, 'ports' | 'protocols'>[],
): readonly string[] {
  const rulesOf = (chain: string) =>
    [...listing.matchAll(new RegExp(`^-A ${chain} (.*)$`, 'gm'))].map(([, rule = '']) =>
      rule.replace(quoted, '""'),
    );
  // A chain that was looked at decides the same again.
  const letsIn = (chain: string, packet: Packet, seen = new Set<string>()): boolean => {
    if (seen.has(chain)) return false;
    seen.add(chain);
    return rulesOf(chain).some((rule) => {
      const target = /(?:^| )-[jg] (\S+)/.exec(rule)?.[1] ?? '';
      if (target.startsWith(prefix) || !mayConcern(rule, packet)) return false;
      return target === 'ACCEPT' || letsIn(target, packet, seen);
    });
  };
  const refusesRest =
    /^-P INPUT DROP$/m.test(listing) ||
    rulesOf('INPUT').some((rule) => /^(-p tcp (-m tcp )?)?-j (DROP|REJECT)\b/.test(rule));
  return refusesRest ? refusedOf(groups, (packet) => letsIn('INPUT', packet)) : [];
}

/** Whether a rule may be for the first packet of a connection from another host. */
function mayConcern(rule: string, { protocol, port }: Packet): boolean {
  const options = rule.matchAll(/(! )?(-[ipd]|--(?:dports?|sports?|ctstate|state|dst-type)) (\S+)/g);
  return [...options].every(([, not, option, value = '']) => {
    if (not) return true;
    switch (option) {
      case '-i':
        return value !== 'lo';
      case '-p':
        return isSameProtocol(value, protocol);
      case '-d':
        // Of VRRP.
        return !/^2(2[4-9]|3\d)\./.test(value) || protocol === '112';
      case '--ctstate':
      case '--state':
        return value.split(',').includes('NEW');
      case '--dst-type':
        return value === 'LOCAL';
      case '--sport':
      case '--sports':
        return false;
      default:
        return port !== undefined && value.split(',').some((range) => isIn(port, range));
    }
  });
}

/**
 * @param range such as `443` or `8000:8010`
 */
function isIn(port: number, range: string): boolean {
  const [first = 0, last = first] = range.split(':').map(Number);
  return port >= first && port <= last;
}
