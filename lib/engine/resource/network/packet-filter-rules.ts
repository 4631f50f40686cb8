import type { Difference } from '../resource.ts';
import type { IpNetwork } from './ip-network.ts';

/** A port that a container publishes and that not everybody may reach. Numbers as iptables takes them: `5432`, or a range `8000:8010`. */
export interface GuardedPort {
  readonly protocol: 'tcp' | 'udp';
  /** On the host. */
  readonly published: string;
  /** Inside the container. */
  readonly target: string;
}

/** Ports that the same sources may reach. */
export interface PortGroup {
  /** Ends the name of its chain: `METRICS`. */
  readonly name: string;
  readonly ports: readonly GuardedPort[];
  readonly sources: readonly IpNetwork[];
}

/** A chain of the table `filter`, with its rules as iptables-save writes them, without `-A CHAIN`. */
export interface Chain {
  readonly name: string;
  readonly rules: readonly string[];
}

/** The chain that the Docker engine keeps for others' rules: it leads every forwarded packet there first, and never empties it. */
export const userChain = 'DOCKER-USER';

/** Docker's bridge of a network is called br- and twelve hex digits. */
const bridges = 'br-+';

/**
 * Chains that let the sources of each group reach its ports, and nobody else. All other packets pass through them: they decide
 * nothing about other ports, and what they let through still meets the rules that follow.
 *
 * No rule lets established connections through: each packet of one is looked at. So a source that is taken away is cut off, and so
 * is whoever slips in while the engine takes its jump to DOCKER-USER away and puts it first again, as it does for each new network.
 *
 * @param prefix name of the first chain, which begins the others' names as well
 */
export function packetFilterChains(prefix: string, groups: readonly PortGroup[], family: 4 | 6): readonly Chain[] {
  const isOpen = ({ sources }: PortGroup) => sources.some((from) => from.family === family && from.everything);
  const closed = groups.filter((group) => group.ports.length > 0 && !isOpen(group));
  const perPort = (rule: (port: GuardedPort, to: string) => string) =>
    unique(closed.flatMap(({ name, ports }) => ports.map((port) => rule(port, `${prefix}-${name}`))));
  return [
    {
      name: prefix,
      rules: [
        // By now the destination is the container's: the port that was asked for is what connection tracking remembers. A
        // container's own connection to such a port of another host is not one that was led to a container here.
        ...perPort(
          ({ protocol, published }, to) =>
            `-p ${protocol} -m conntrack --ctstate DNAT --ctorigdstport ${published} --ctdir ORIGINAL -j ${to}`,
        ),
        // Engines before 28 let a neighbour in who sends packets to the container's own address, past the published port.
        ...perPort(
          ({ protocol, target }, to) =>
            `! -i ${bridges} -o ${bridges} -p ${protocol} -m conntrack ! --ctstate DNAT --ctorigdstport ${target} --ctdir ORIGINAL -j ${to}`,
        ),
      ],
    },
    {
      name: inputChain(prefix),
      rules: [
        ...insideInterfaces(family).map((name) => `-i ${name} -j RETURN`),
        ...perPort(
          ({ protocol, published }, to) =>
            `-p ${protocol} -m conntrack --ctorigdstport ${published} --ctdir ORIGINAL -j ${to}`,
        ),
      ],
    },
    ...groups.map((group) => ({
      name: `${prefix}-${group.name}`,
      rules: closed.includes(group) ? sourceRules(group.sources, family) : [],
    })),
  ];
}

/**
 * Docker also listens on the host itself and hands on what arrives there: over IPv6 where its networks have none, and over IPv4
 * wherever its own rules are missing. Such packets are not forwarded, and never see DOCKER-USER.
 */
export function inputChain(prefix: string): string {
  return `${prefix}-INPUT`;
}

/** Where the host and its containers speak to it. Over IPv6 this is the way in from outside, so no name but `lo` is trusted. */
function insideInterfaces(family: 4 | 6): readonly string[] {
  return family === 4 ? ['lo', 'docker0', bridges] : ['lo'];
}

function sourceRules(sources: readonly IpNetwork[], family: 4 | 6): string[] {
  const own = unique(sources.filter((from) => from.family === family).map(({ text }) => text)).sort();
  return [...own.map((text) => `-s ${text} -j RETURN`), '-j DROP'];
}

/** Lines for iptables-restore --noflush: each chain is emptied and filled anew in one step, and no other is touched. */
export function restoreLines(chains: readonly Chain[]): string {
  const lines = [
    ...chains.map(({ name }) => `:${name} - [0:0]`),
    ...chains.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${rule}`)),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * What differs between the rules of a host and the wanted ones.
 *
 * @param tool `iptables` or `ip6tables`
 * @param listing what it prints with -S
 * @param prefix as packetFilterChains has it
 */
export function packetFilterDifferences(
  tool: string,
  listing: string,
  prefix: string,
  wanted: readonly Chain[],
): Difference[] {
  const present = parseListing(listing);
  const chains = wanted.flatMap(({ name, rules }): Difference[] => {
    const now = present.get(name);
    if (now && same(now, rules)) return [];
    return [{ what: `${tool} chain ${name}`, was: now ? shown(now) : 'absent', wanted: shown(rules) }];
  });
  const ways = [
    ['FORWARD', userChain],
    [userChain, prefix],
    ['INPUT', inputChain(prefix)],
  ] as const;
  return [...chains, ...ways.flatMap(([from, to]) => wayDifference(tool, present, from, to))];
}

/** A rule before the jump may refuse packets; one that lets some through would lead them past it. */
function wayDifference(tool: string, present: Listing, from: string, to: string): Difference[] {
  const rules = present.get(from) ?? [];
  const at = rules.findIndex((rule) => canonical(rule) === `-j ${to}`);
  const past = rules.slice(0, Math.max(at, 0)).find((rule) => letsThrough(rule, present, true));
  if (at !== -1 && past === undefined) return [];
  const was = past === undefined ? `does not lead to ${to}` : `leads there only after: ${past}`;
  return [{ what: `${tool} chain ${from}`, was, wanted: `leads to ${to} first` }];
}

/** As a comment is written, which may hold anything. */
const quoted = /"(?:\\.|[^"\\])*"/g;
const refusing = ['DROP', 'REJECT', 'LOG', 'NFLOG'];

/** @param outermost whether a RETURN leaves the chain in which the jump is looked for */
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

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((rule, at) => canonical(rule) === canonical(other[at] ?? ''));
}

/** Versions of iptables differ in the order of options, in naming a match that an option implies, and in numbers for protocols. */
function canonical(rule: string): string {
  const options: string[] = [];
  for (const word of rule.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []) {
    const last = options.at(-1);
    if (last === '!' || (last !== undefined && !/^(-|!$)/.test(word))) options.splice(-1, 1, `${last} ${word}`);
    else options.push(word);
  }
  return options
    .filter((option) => !option.startsWith('-m '))
    .map((option) => option.replace(/-p 6$/, '-p tcp').replace(/-p 17$/, '-p udp'))
    .sort()
    .join(' ');
}

function shown(rules: readonly string[]): string {
  return rules.length === 0 ? 'empty' : rules.join('\n');
}

function unique(lines: readonly string[]): string[] {
  return [...new Set(lines)];
}
