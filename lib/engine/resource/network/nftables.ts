import * as z from 'zod';
import { fieldsOf } from '../../text/keys.ts';
import { parseJson } from '../../text/parse-json.ts';
import type { PortGroup } from './packet-filter-rules.ts';
import { isSameProtocol, type Packet, refusedOf } from './packets.ts';

const place = { family: z.string(), table: z.string() };
const listed = z.object({
  nftables: z.array(
    z.object({
      chain: z
        .object({ ...place, name: z.string(), hook: z.string().optional(), policy: z.string().optional() })
        .optional(),
      rule: z.object({ ...place, chain: z.string(), expr: z.array(z.unknown()) }).optional(),
      set: z.object({ ...place, name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
      map: z.object({ ...place, name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
    }),
  ),
});

/** One condition of a rule: what it looks at, and the values for which it holds. */
interface Match {
  readonly left: unknown;
  readonly values: readonly unknown[];
}

/** A rule, or one entry of its map of verdicts. */
interface Way {
  readonly matches: readonly Match[];
  readonly verdict: 'accept' | 'refuse' | undefined;
  readonly target: string | undefined;
}

interface BaseChain {
  /** Such as `inet filter input`. */
  readonly name: string;
  readonly hook: string;
  readonly letsIn: (packet: Packet) => boolean;
}

/**
 * What tables of nftables refuse of a host's own ports: those of /etc/nftables.conf, of a firewalld
 * or of another program. As with the rules of iptables, which addresses a rule is for does not count.
 *
 * @param ruleset output of `nft --json list ruleset`; another text has no rules
 * @returns as `refusedPorts`
 */
export function refusedByTables(
  ruleset: string,
  groups: readonly Pick<PortGroup, 'ports' | 'protocols'>[],
): readonly string[] {
  const chains = refusingChains(ruleset).filter(({ hook }) => hook === 'input');
  return refusedOf(groups, (packet) => chains.every(({ letsIn }) => letsIn(packet)));
}

/**
 * Chains that let no new connection of containers through, whatever Docker's own rules say. A chain of
 * firewalld does not count: Docker adds the networks of its containers to firewalld.
 *
 * @param ruleset as for `refusedByTables`
 * @returns such as `inet filter forward`
 */
export function refusesContainers(ruleset: string): readonly string[] {
  return refusingChains(ruleset)
    .filter(
      ({ name, hook, letsIn }) =>
        hook === 'forward' && !/ firewalld /.test(name) && !letsIn({ protocol: 'tcp' }),
    )
    .map(({ name }) => name);
}

/** Chains at a hook that refuse what no rule of theirs lets in, without those that iptables made. */
function refusingChains(ruleset: string): BaseChain[] {
  const objects = listed.safeParse(parseJson(ruleset)).data?.nftables ?? [];
  const chains = objects.flatMap(({ chain }) => chain ?? []);
  return chains.flatMap(({ name, hook, policy, ...table }) => {
    const isIn = (other: { family: string; table: string }) =>
      other.family === table.family && other.table === table.table;
    const isFromIptables = table.family === 'ip' && table.table === 'filter' && /^[A-Z]+$/.test(name);
    if (hook === undefined || isFromIptables || !/^(inet|ip)$/.test(table.family)) return [];
    const named = objects.flatMap(({ set, map }) => set ?? map ?? []).filter(isIn);
    const rules = objects.flatMap(({ rule }) => rule ?? []).filter(isIn);
    const waysOf = (chain: string) =>
      rules
        .filter((rule) => rule.chain === chain)
        .flatMap(({ expr }) =>
          waysOfRule(expr, (set) => named.find((each) => each.name === set)?.elem ?? []),
        );
    const refusesRest =
      policy === 'drop' ||
      waysOf(name).some(({ matches, verdict }) => matches.length === 0 && verdict === 'refuse');
    // A chain that was looked at decides the same again.
    const letsIn = (chain: string, packet: Packet, seen = new Set<string>()): boolean => {
      if (seen.has(chain)) return false;
      seen.add(chain);
      return waysOf(chain).some(
        ({ matches, verdict, target }) =>
          matches.every((match) => mayConcern(match, packet)) &&
          (verdict === 'accept' || (target !== undefined && letsIn(target, packet, seen))),
      );
    };
    return refusesRest
      ? [{ name: `${table.family} ${table.table} ${name}`, hook, letsIn: (packet) => letsIn(name, packet) }]
      : [];
  });
}

/**
 * @param expr statements of a rule
 * @param elementsOf elements of a named set or map
 */
function waysOfRule(expr: readonly unknown[], elementsOf: (name: string) => readonly unknown[]): Way[] {
  const valuesOf = (right: unknown): readonly unknown[] =>
    typeof right === 'string' && right.startsWith('@')
      ? elementsOf(right.slice(1)).flatMap(plain)
      : plain(right);
  const statements = expr.map(fieldsOf);
  const matches = statements.flatMap((statement): Match[] => {
    const { op, left, right } = fieldsOf(statement.match);
    // What is excluded leaves all others.
    return left === undefined || op === '!=' ? [] : [{ left, values: valuesOf(right) }];
  });
  const ways = statements.flatMap((statement): Way[] => {
    if (!('vmap' in statement)) return [{ matches, ...verdictOf(statement) }];
    const { key, data } = fieldsOf(statement.vmap);
    const entries = typeof data === 'string' ? elementsOf(data.slice(1)) : fieldsOf(data).set;
    return (Array.isArray(entries) ? entries : []).filter(Array.isArray).map(([value, verdict]) => ({
      matches: [...matches, { left: key, values: valuesOf(value) }],
      ...verdictOf(fieldsOf(verdict)),
    }));
  });
  return ways.filter(({ verdict, target }) => verdict !== undefined || target !== undefined);
}

/** The single values of a value, a list or a set. An element of a set may have a time or a counter. */
function plain(right: unknown): readonly unknown[] {
  if (Array.isArray(right)) return right.flatMap(plain);
  const { set, elem } = fieldsOf(right);
  if (set !== undefined) return plain(set);
  return elem === undefined ? [right] : plain(fieldsOf(elem).val);
}

function verdictOf(statement: Readonly<Record<string, unknown>>): Omit<Way, 'matches'> {
  const refuses = 'drop' in statement || 'reject' in statement;
  const { target } = fieldsOf(statement.jump ?? statement.goto);
  return {
    verdict: 'accept' in statement ? 'accept' : refuses ? 'refuse' : undefined,
    target: typeof target === 'string' ? target : undefined,
  };
}

/** Whether a condition may hold for the first packet of a connection from another host by IPv4. */
function mayConcern({ left, values }: Match, { protocol, port }: Packet): boolean {
  const looksAt = fieldsOf(left);
  const payload = fieldsOf(looksAt.payload);
  const isProtocol = () => values.some((value) => isSameProtocol(String(value), protocol));
  if (payload.field === 'dport')
    return ['th', protocol].includes(String(payload.protocol)) && values.some((value) => isOf(value, port));
  if (payload.field === 'protocol') return isProtocol();
  if (payload.field === 'sport' || /^(ip6|icmp|icmpv6)$/.test(String(payload.protocol))) return false;
  switch (fieldsOf(looksAt.meta ?? looksAt.ct).key) {
    case 'l4proto':
      return isProtocol();
    case 'iif':
    case 'iifname':
      return values.some((value) => value !== 'lo');
    case 'nfproto':
      return values.some((value) => value !== 'ipv6');
    case 'state':
      return values.includes('new');
    case 'status':
      // Of a published port of a container.
      return !values.includes('dnat');
    default:
      return true;
  }
}

/** @param value a port, or `{ range: [first, last] }` */
function isOf(value: unknown, port: number | undefined): boolean {
  const { range } = fieldsOf(value);
  const [first = Number.NaN, last = first] = plain(range ?? value).map(Number);
  return port !== undefined && first <= port && port <= last;
}
