import type { Difference } from '../resource.ts';
import type { IpNetwork } from './ip-network.ts';

/**
 * A port of the host, also one that a container publishes. Numbers as for iptables: `5432`, or a
 * range `8000:8010`.
 */
export interface GuardedPort {
  readonly protocol: 'tcp' | 'udp';
  /** On the host. */
  readonly published: string;
}

/** Ports that the same sources may reach. */
export interface PortGroup<Source = IpNetwork> {
  /** Suffix of its chain's name: `METRICS`. */
  readonly name: string;
  readonly ports: readonly GuardedPort[];
  /** Protocols of the host itself without ports, by their number: 112 is VRRP. */
  readonly protocols?: readonly number[];
  readonly sources: readonly Source[];
  /**
   * They are guarded only on a host with this file: somebody else's program may have the same
   * port.
   */
  readonly onlyWith?: string;
}

/**
 * A chain of the table `filter`, with its rules as iptables-save writes them, without `-A CHAIN`.
 */
export interface Chain {
  readonly name: string;
  readonly rules: readonly string[];
}

/**
 * The Docker engine's chain for rules of others: every forwarded packet goes there first. It is
 * never emptied.
 */
const userChain = 'DOCKER-USER';

/**
 * Stands for each bridge of the deployment's own networks: the host makes one line of it for each.
 * Only Docker knows their names. Other bridges are no different from any interface: the way to
 * other hosts may be one, also one named br-ex.
 */
const anyBridge = '@bridge';

/** A rule with this and a path at its end is loaded only on a host with that file. */
const onlyWith = ' @only-with ';

/**
 * Chains that open the ports of each group to its sources alone. Containers are reached by their
 * published ports alone. All other packets pass through the chains to the following rules.
 *
 * Packets of established connections are checked as well. So a source that is removed is cut off,
 * and so is a connection that was made while the engine removes its jump to DOCKER-USER and
 * inserts it again, as it does for each new network.
 *
 * @param prefix name of the first chain, and prefix of the other names
 * @returns with `anyBridge` and `onlyWith` in their rules
 */
export function packetFilterChains(
  prefix: string,
  groups: readonly PortGroup[],
  family: 4 | 6,
): readonly Chain[] {
  const isOpen = ({ sources }: PortGroup) =>
    sources.some((from) => from.family === family && from.everything);
  const guards = ({ ports, protocols = [] }: PortGroup) => ports.length + protocols.length > 0;
  const closed = groups.filter((group) => guards(group) && !isOpen(group));
  return [
    { name: prefix, rules: forwardRules(prefix, closed) },
    { name: inputChain(prefix), rules: inputRules(prefix, closed) },
    ...groups.map((group) => ({
      name: `${prefix}-${group.name}`,
      rules: closed.includes(group) ? sourceRules(group.sources, family) : [],
    })),
  ];
}

const fromContainers = `-i ${anyBridge} -j RETURN`;

function forwardRules(prefix: string, closed: readonly PortGroup[]): string[] {
  return [
    fromContainers,
    // A neighbour may send packets to a container's own address, past the published ports, and to
    // ports that are not published. Engines before 28 let them in where others have opened
    // FORWARD.
    `-o ${anyBridge} -m conntrack ! --ctstate DNAT --ctdir ORIGINAL -j DROP`,
    // The destination is the container's by now; connection tracking has the published port. A
    // connection of a container to such a port of another host is not DNAT.
    ...portRules(prefix, closed, '--ctstate DNAT '),
  ];
}

/**
 * Docker's proxy also listens on the host itself: for IPv6 if its networks have none, and for IPv4
 * if its own rules are missing. Such packets are not forwarded, and never reach DOCKER-USER.
 */
function inputChain(prefix: string): string {
  return `${prefix}-INPUT`;
}

function inputRules(prefix: string, closed: readonly PortGroup[]): string[] {
  return [
    // Connections from the host and its containers.
    '-i lo -j RETURN',
    fromContainers,
    ...portRules(prefix, closed, ''),
    ...closed.flatMap(({ name, protocols = [] }) =>
      protocols.map((number) => `-p ${number} -j ${prefix}-${name}`),
    ),
  ];
}

/**
 * A jump to the chain of its group for each port.
 *
 * @param state a further condition on the connection, with a space at its end, or nothing
 */
function portRules(prefix: string, closed: readonly PortGroup[], state: string): ReadonlySet<string> {
  const rules = closed.flatMap(({ name, ports, onlyWith: path }) =>
    ports.map(({ protocol, published }) => {
      const rule = `-p ${protocol} -m conntrack ${state}--ctorigdstport ${published} --ctdir ORIGINAL -j ${prefix}-${name}`;
      return path === undefined ? rule : `${rule}${onlyWith}${path}`;
    }),
  );
  return new Set(rules);
}

function sourceRules(sources: readonly IpNetwork[], family: 4 | 6): string[] {
  const own = new Set(sources.filter((from) => from.family === family).map(({ text }) => text));
  return [...[...own].sort().map((text) => `-s ${text} -j RETURN`), '-j DROP'];
}

/** What rules depend on, and only the host knows. */
export interface HostFacts {
  /** Names of the bridges of our networks. */
  readonly bridges: readonly string[];
  /** The files that are there. */
  readonly files: readonly string[];
}

/** The chains as a host loads them. */
export function onHost(chains: readonly Chain[], { bridges, files }: HostFacts): readonly Chain[] {
  const each = (text: string) => {
    const [rule = '', path] = text.split(onlyWith);
    if (path !== undefined && !files.includes(path)) return [];
    return rule.includes(anyBridge) ? bridges.map((name) => rule.replaceAll(anyBridge, name)) : [rule];
  };
  return chains.map(({ name, rules }) => ({ name, rules: rules.flatMap(each) }));
}

/**
 * Lines for iptables-restore --noflush: these chains are replaced in one step, and no other is
 * touched.
 */
export function restoreLines(chains: readonly Chain[]): string {
  const lines = [
    ...chains.map(({ name }) => `:${name} - [0:0]`),
    ...chains.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${rule}`)),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * The differences between the rules of a host and the wanted ones.
 *
 * @param listing output of `iptables -S` or `ip6tables -S`, the `tool`
 */
export function packetFilterDifferences(
  tool: string,
  listing: string,
  prefix: string,
  wanted: readonly Chain[],
) {
  const present = parseListing(listing);
  const chains = wanted.flatMap(({ name, rules }): Difference[] => {
    const now = present.get(name);
    if (now?.map(canonical).join('\n') === rules.map(canonical).join('\n')) return [];
    return [{ what: `${tool} chain ${name}`, was: now ? shown(now) : 'absent', wanted: shown(rules) }];
  });
  const jumps = [
    ['FORWARD', userChain],
    [userChain, prefix],
    ['INPUT', inputChain(prefix)],
  ] as const;
  return [...chains, ...jumps.flatMap(([from, to]) => jumpDifference(tool, present, from, to))];
}

/** Rules before the jump may refuse packets, but not let any through: these would not reach it. */
function jumpDifference(tool: string, present: Listing, from: string, to: string): Difference[] {
  const rules = present.get(from) ?? [];
  const at = rules.findIndex((rule) => canonical(rule) === `-j ${to}`);
  const past = rules.slice(0, Math.max(at, 0)).find((rule) => letsThrough(rule, present, true));
  if (at !== -1 && past === undefined) return [];
  const was = past === undefined ? `no jump to ${to}` : `a jump only after: ${past}`;
  return [{ what: `${tool} chain ${from}`, was, wanted: `a jump to ${to} first` }];
}

/** A comment, which may contain anything. */
const quoted = /"(?:\\.|[^"\\])*"/g;
const refusing = ['DROP', 'REJECT', 'LOG', 'NFLOG'];

/**
 * @param outermost whether a RETURN leaves the chain with the jump
 */
function letsThrough(rule: string, present: Listing, outermost: boolean): boolean {
  const [, way, target] = /(?:^| )(-j|-g) (\S+)/.exec(rule.replace(quoted, '""')) ?? [];
  if (target === undefined) return false;
  if (way === '-g') return true;
  if (target === 'RETURN') return outermost;
  if (refusing.includes(target)) return false;
  return present.get(target)?.some((inner) => letsThrough(inner, present, false)) ?? true;
}

type Listing = ReadonlyMap<string, readonly string[]>;

function parseListing(text: string): Listing {
  const chains = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, kind, name = '', rule = ''] = /^-([NPA]) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === undefined) continue;
    const rules = chains.get(name) ?? [];
    if (kind === 'A') rules.push(rule);
    chains.set(name, rules);
  }
  return chains;
}

/**
 * Versions of iptables differ in the order of options, in implied matches (-m), and in numbers for
 * protocols.
 */
function canonical(rule: string): string {
  const options: string[] = [];
  for (const word of rule.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []) {
    const last = options.at(-1);
    if (last === '!' || (last !== undefined && !/^(-|!$)/.test(word)))
      options.splice(-1, 1, `${last} ${word}`);
    else options.push(word);
  }
  return options
    .filter((option) => !option.startsWith('-m '))
    .map((option) =>
      option
        .replace(/-p 6$/, '-p tcp')
        .replace(/-p 17$/, '-p udp')
        .replace(/-p vrrp$/, '-p 112'),
    )
    .sort()
    .join(' ');
}

function shown(rules: readonly string[]): string {
  return rules.length === 0 ? 'empty' : rules.join('\n');
}
