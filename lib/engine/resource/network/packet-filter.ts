import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reader } from '../../host/host.ts';
import { command } from '../../host/step.ts';
import { directory } from '../file/directory.ts';
import { file } from '../file/file.ts';
import { checkParts, type Part } from '../parts.ts';
import { type Difference, driftOf, type Resource, refused, unknownUntil } from '../resource.ts';
import { service } from '../system/service.ts';
import { type IpNetwork, parseIpNetwork } from './ip-network.ts';
import {
  type HostFacts,
  onHost,
  type PortGroup,
  packetFilterChains,
  packetFilterDifferences,
  restoreLines,
} from './packet-filter-rules.ts';
import { dropIns, keeperUnits, unitFiles, unitPath } from './packet-filter-units.ts';

const script = readFileSync(new URL('../../../../templates/host/firewall.sh', import.meta.url));

/**
 * Ports that certain sources may reach: addresses, networks, or names that the host itself
 * resolves.
 */
export type Access = PortGroup<string>;

interface PacketFilter {
  /** Prefix of the files and units on the host. */
  readonly product: string;
  /** Prefix of the chains. */
  readonly prefix: string;
  readonly accesses: readonly Access[];
  /**
   * The host's own name, which it may know at loopback alone: packets of the host itself come by
   * that, and need no rule.
   */
  readonly own?: string;
  /** What to do about a source name that the host cannot resolve. */
  readonly hint: string;
  /** The units that are not started before the rules are loaded: `docker.service`. */
  readonly protects: readonly string[];
  /** Names of the Docker networks of our containers. None: the host has no such containers. */
  readonly networks: readonly string[];
}

const families = [
  { family: 4, tool: 'iptables' },
  { family: 6, tool: 'ip6tables' },
] as const;

/**
 * Ports of the host, and those that containers publish, are open to their sources alone, over IPv4
 * and IPv6; containers are reached by published ports alone. Published ports of the Docker engine
 * bypass the chain INPUT, so the rules are in separate chains below INPUT and DOCKER-USER. They
 * are loaded before each start of what they protect, which does not start without them. The host
 * looks every 30 s whether they are as the last deploy wrote them, and loads them again if not.
 * Other ports of the host are not affected.
 */
export function packetFilter(options: PacketFilter): Resource {
  const { product, prefix, accesses, own, hint } = options;
  const { load, loader, starts, units } = filesOf(options);
  return {
    name: 'published ports are open to their sources alone',

    async check(host) {
      const known = lookUp(host, accesses, own);
      const [{ found, missing }, listings, before, after, hasV6, unread, facts] = await Promise.all([
        known,
        Promise.all(families.map(({ tool }) => host.$`${tool} --wait=60 -S`)),
        known.then((all) => checkParts(host, [...loader, ...ruleFiles(options, all.found)])),
        checkParts(host, starts),
        host.$`[ -e /proc/net/if_inet6 ]`,
        unreadFiles(host, units),
        factsOf(host, product, accesses),
      ]);
      if (listings[0]?.exitCode === 127) return unknownUntil('iptables is installed');
      if (missing.length > 0) return refused(`this host finds no address of ${missing.join(', ')}`, hint);
      const loaded = families
        .filter(({ family }) => family === 4 || hasV6.ok)
        .flatMap(({ family, tool }, at) => {
          const wanted = onHost(chainsOf(options, found, family), facts);
          return packetFilterDifferences(tool, listings[at]?.stdout ?? '', prefix, wanted);
        });
      // If the rules cannot be loaded, the run ends before anything depends on them.
      const steps = [...before.steps.flat(), load, ...after.steps.flat(), command`systemctl daemon-reload`];
      const differences = [...before.differences, ...after.differences, ...unread, ...loaded];
      return driftOf(differences, before.refusal ?? after.refusal ?? steps);
    },
  };
}

const rulesOf = (product: string) => `/etc/${product}/firewall`;
const text = (path: string, content: string): Part => [`${path} `, file(path).content(content)];

/**
 * The step that loads the rules, what is written before it and after it, and the files of systemd
 * among both.
 */
function filesOf(options: PacketFilter) {
  const { product, prefix, networks } = options;
  const [program, rules] = [`/usr/local/lib/${product}/firewall`, rulesOf(product)];
  const named = { ...options, command: `${program} ${rules} ${prefix}`, hasNetworks: networks.length > 0 };
  const [own, parts] = [unitFiles(named), dropIns(named)];
  const folders = new Set([program, rules, ...parts.map(({ path }) => path)].map(dirname));
  const loader: readonly Part[] = [
    ...[...folders].map((path): Part => [`${path} `, directory(path)]),
    [`${program} `, file(program).content(script).mode(0o755)],
    ...own.map(({ path, content }) => text(path, content)),
    text(`${rules}.networks`, networks.map((name) => `${name}\n`).join('')),
  ];
  return {
    load: command`${program} ${rules} ${prefix}`,
    loader,
    starts: parts.map(({ path, content }) => text(path, content)),
    units: [...own, ...parts],
  };
}

type Known = ReadonlyMap<string, readonly IpNetwork[]>;

function chainsOf({ prefix, accesses }: PacketFilter, known: Known, family: 4 | 6) {
  const networks = (sources: readonly string[]) => sources.flatMap((source) => known.get(source) ?? []);
  const groups = accesses.map(({ sources, ...rest }) => ({ ...rest, sources: networks(sources) }));
  return packetFilterChains(prefix, groups, family);
}

function ruleFiles(options: PacketFilter, known: Known): readonly Part[] {
  return families.map(({ family }) =>
    text(`${rulesOf(options.product)}.v${family}`, restoreLines(chainsOf(options, known, family))),
  );
}

/** The timer and the watch run. `packetFilter` has written their files. */
export function rulesAreKept({
  product,
  networks,
}: Pick<PacketFilter, 'product' | 'networks'>): readonly Resource[] {
  const { timer, watch } = keeperUnits({ product, hasNetworks: networks.length > 0 });
  return [timer, ...(watch === undefined ? [] : [watch])].map((unit) => service(unit, [unitPath(unit)]));
}

/**
 * What systemd has not read. It reads a drop-in together with the unit, once that is installed.
 */
async function unreadFiles(host: Reader, files: ReturnType<typeof dropIns>): Promise<Difference[]> {
  const names = files.map(({ unit }) => unit);
  const shown =
    await host.$`systemctl show --property=LoadState,DropInPaths,FragmentPath,NeedDaemonReload ${names}`;
  const units = shown.stdout.split('\n\n').map((block) => block.split('\n'));
  return files.flatMap(({ unit, path }, at) => {
    const value = (key: string) =>
      units[at]?.find((line) => line.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
    const isOwn = path === unitPath(unit);
    if (['not-found', 'masked'].includes(value('LoadState')) && !isOwn) return [];
    const read = [value('FragmentPath'), ...value('DropInPaths').split(' ')];
    if (read.includes(path) && value('NeedDaemonReload') === 'no') return [];
    return [{ what: unit, was: `systemd has not read ${path}`, wanted: 'read' }];
  });
}

/**
 * Addresses of all sources. The rules have addresses because no name can be resolved at boot, when
 * they are loaded.
 */
async function lookUp(host: Reader, accesses: readonly Access[], own?: string) {
  const sources = [...new Set(accesses.flatMap((access) => access.sources))];
  const found = await Promise.all(
    sources.map(async (source) => [source, await addressesOf(host, source)] as const),
  );
  return {
    found: new Map(found),
    missing: found.flatMap(([source, networks]) => (networks.length === 0 && source !== own ? [source] : [])),
  };
}

/** The bridges are those that the host's own program has found. */
async function factsOf(host: Reader, product: string, accesses: readonly Access[]): Promise<HostFacts> {
  const paths = [...new Set(accesses.flatMap(({ onlyWith = [] }) => onlyWith))];
  const [bridges, ...stats] = await Promise.all([
    host.read(`/var/lib/${product}/firewall/bridges`),
    ...paths.map((path) => host.stat(path)),
  ]);
  return {
    bridges: bridges?.toString().split('\n').filter(Boolean) ?? [],
    files: paths.filter((_, at) => stats[at] !== undefined),
  };
}

async function addressesOf(host: Reader, source: string): Promise<readonly IpNetwork[]> {
  const network = parseIpNetwork(source);
  if (network) return [network];
  return addressesIn((await host.$({ timeoutSeconds: 10 })`getent ahosts ${source}`).lines());
}

/**
 * @param lines such as `10.0.0.1  STREAM rpc-1`. Loopback and link-local addresses are left out:
 * another host cannot have them.
 */
function addressesIn(lines: readonly string[]): IpNetwork[] {
  return lines.flatMap((line) => {
    const network = parseIpNetwork(line.split(/\s/)[0] ?? '');
    return network === undefined || /^(127\.|::1\/|fe[89ab])/.test(network.text) ? [] : [network];
  });
}
