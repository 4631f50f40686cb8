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

/** Ports that certain sources may reach: addresses, networks, or names that the host itself resolves. */
export type Access = PortGroup<string>;

interface PacketFilter {
  /** Prefix of the files and units on the host. */
  readonly product: string;
  /** Prefix of the chains. */
  readonly prefix: string;
  readonly accesses: readonly Access[];
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
 * Ports of the host, and those that containers publish, are open to their sources alone, over IPv4 and IPv6; containers are reached by
 * published ports alone. Published ports of the Docker engine bypass the chain INPUT, so the rules are in separate chains below INPUT
 * and DOCKER-USER. They are loaded before each start of what they protect, which does not start without them. The host looks every
 * 30 s whether they are as the last deploy wrote them, and loads them again if not. Other ports of the host are not affected.
 */
export function packetFilter(options: PacketFilter): Resource {
  const { product, prefix, accesses, hint } = options;
  const program = `/usr/local/lib/${product}/firewall`;
  const rules = `/etc/${product}/firewall`;
  const hasNetworks = options.networks.length > 0;
  const units = { ...options, command: `${program} ${rules} ${prefix}`, hasNetworks };
  const [own, parts] = [unitFiles(units), dropIns(units)];
  const text = (path: string, content: string): Part => [`${path} `, file(path).content(content)];
  const loader: readonly Part[] = [
    ...unique([program, rules, ...parts.map(({ path }) => path)].map(dirname)).map(
      (path): Part => [`${path} `, directory(path)],
    ),
    [`${program} `, file(program).content(script).mode(0o755)],
    ...own.map(({ path, content }) => text(path, content)),
    text(`${rules}.networks`, options.networks.map((name) => `${name}\n`).join('')),
  ];
  const starts = parts.map(({ path, content }) => text(path, content));
  const chainsOf = (known: Known, family: 4 | 6) => {
    const networks = (sources: readonly string[]) => sources.flatMap((source) => known.get(source) ?? []);
    const groups = accesses.map(({ sources, ...rest }) => ({ ...rest, sources: networks(sources) }));
    return packetFilterChains(prefix, groups, family);
  };
  const ruleFiles = (known: Known): readonly Part[] =>
    families.map(({ family }) => text(`${rules}.v${family}`, restoreLines(chainsOf(known, family))));
  const named = accesses.flatMap(({ sources }) => sources);

  return {
    name: 'published ports are open to their sources alone',

    async check(host) {
      const known = lookUp(host, named);
      const [{ found, missing }, listings, files, hasV6, unread, facts] = await Promise.all([
        known,
        Promise.all(families.map(({ tool }) => host.$`${tool} --wait=60 -S`)),
        known.then((all) => checkParts(host, [...loader, ...ruleFiles(all.found), ...starts])),
        host.$`[ -e /proc/net/if_inet6 ]`,
        unreadFiles(host, [...own, ...parts]),
        factsOf(host, product, accesses),
      ]);
      if (listings[0]?.exitCode === 127) return unknownUntil('iptables is installed');
      if (missing.length > 0) return refused(`this host finds no address of ${missing.join(', ')}`, hint);
      const differences = [
        ...files.differences,
        ...unread,
        ...families
          .filter(({ family }) => family === 4 || hasV6.ok)
          .flatMap(({ family, tool }, at) => {
            const wanted = onHost(chainsOf(found, family), facts);
            return packetFilterDifferences(tool, listings[at]?.stdout ?? '', prefix, wanted);
          }),
      ];
      const [first, last] = [files.steps.slice(0, -starts.length).flat(), files.steps.slice(-starts.length).flat()];
      // The drop-ins come last: if the rules cannot be loaded, the run ends before anything depends on them.
      const steps = [...first, command`${program} ${rules} ${prefix}`, ...last, command`systemctl daemon-reload`];
      return driftOf(differences, files.refusal ?? steps);
    },
  };
}

/** The timer and the watch run. `packetFilter` has written their files. */
export function rulesAreKept({ product, networks }: Pick<PacketFilter, 'product' | 'networks'>): readonly Resource[] {
  const { timer, watch } = keeperUnits({ product, hasNetworks: networks.length > 0 });
  return [timer, ...(watch === undefined ? [] : [watch])].map((unit) => service(unit, [unitPath(unit)]));
}

/** What systemd has not read. It reads a drop-in together with the unit, once that is installed. */
async function unreadFiles(host: Reader, files: ReturnType<typeof dropIns>): Promise<Difference[]> {
  const names = files.map(({ unit }) => unit);
  const shown = await host.$`systemctl show --property=LoadState,DropInPaths,FragmentPath,NeedDaemonReload ${names}`;
  const units = shown.stdout.split('\n\n').map((block) => block.split('\n'));
  return files.flatMap(({ unit, path }, at) => {
    const value = (key: string) => units[at]?.find((line) => line.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
    const isOwn = path === unitPath(unit);
    if (['not-found', 'masked'].includes(value('LoadState')) && !isOwn) return [];
    const read = [value('FragmentPath'), ...value('DropInPaths').split(' ')];
    if (read.includes(path) && value('NeedDaemonReload') === 'no') return [];
    return [{ what: unit, was: `systemd has not read ${path}`, wanted: 'read' }];
  });
}

type Known = ReadonlyMap<string, readonly IpNetwork[]>;

const unique = (words: readonly string[]): string[] => [...new Set(words)];

/** Addresses of all sources. The rules have addresses because no name can be resolved at boot, when they are loaded. */
async function lookUp(host: Reader, sources: readonly string[]) {
  const found = await Promise.all(
    unique(sources).map(async (source) => [source, await addressesOf(host, source)] as const),
  );
  return {
    found: new Map(found),
    missing: found.flatMap(([source, networks]) => (networks.length === 0 ? [source] : [])),
  };
}

/** The bridges are those that the host's own program has found. */
async function factsOf(host: Reader, product: string, accesses: readonly Access[]): Promise<HostFacts> {
  const paths = unique(accesses.flatMap(({ onlyWith = [] }) => onlyWith));
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
 * @param lines such as `10.0.0.1  STREAM rpc-1`. Loopback and link-local addresses are left out: another host cannot have them.
 */
function addressesIn(lines: readonly string[]): IpNetwork[] {
  return lines.flatMap((line) => {
    const network = parseIpNetwork(line.split(/\s/)[0] ?? '');
    return network === undefined || /^(127\.|::1\/|fe[89ab])/.test(network.text) ? [] : [network];
  });
}
