import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { command } from '../../host/action.ts';
import type { Reader } from '../../host/host.ts';
import { directory } from '../file/directory.ts';
import { file } from '../file/file.ts';
import { checkParts, type Part } from '../parts.ts';
import { driftOf, type Resource, refused, unknownUntil } from '../resource.ts';
import { type IpNetwork, parseIpNetwork } from './ip-network.ts';
import { type PortGroup, packetFilterChains, packetFilterDifferences, restoreLines } from './packet-filter-rules.ts';

const script = readFileSync(new URL('../../../../templates/host/firewall.sh', import.meta.url));

/** Ports that certain sources may reach: addresses, networks, or names that the host itself resolves. */
export type Access = PortGroup<string>;

interface PacketFilter {
  /** Prefix of the files on the host. */
  readonly product: string;
  /** Prefix of the chains. */
  readonly prefix: string;
  readonly accesses: readonly Access[];
  /** What to do about a source name that the host cannot resolve. */
  readonly hint: string;
  /** The unit that is not started before the rules are loaded. Default: docker.service. */
  readonly before?: string;
}

const families = [
  { family: 4, tool: 'iptables' },
  { family: 6, tool: 'ip6tables' },
] as const;

/**
 * Ports that containers publish are open to their sources alone, over IPv4 and IPv6. Published ports of the Docker engine bypass
 * the chain INPUT, so the rules are in separate chains below DOCKER-USER. They are loaded before each start of the engine, and
 * the engine does not start without them. Other ports of the host are not affected.
 */
export function packetFilter({ product, prefix, accesses, hint, before = 'docker.service' }: PacketFilter): Resource {
  const program = `/usr/local/lib/${product}/firewall`;
  const rules = `/etc/${product}/firewall`;
  const dropIn = `/etc/systemd/system/${before}.d/${product}-firewall.conf`;
  const loader: readonly Part[] = [
    ...[program, rules, dropIn].map(dirname).map((path) => [`${path} `, directory(path)] as const),
    [`${program} `, file(program).content(script).mode(0o755)],
  ];
  // Its unit may run as another user.
  const asRoot = before === 'docker.service' ? '' : '+';
  const atStart: Part = [
    `${dropIn} `,
    file(dropIn).content(`[Service]\nExecStartPre=${asRoot}${program} ${rules} ${prefix}\n`),
  ];
  const chainsOf = (known: Known, family: 4 | 6) => {
    const networks = (sources: readonly string[]) => sources.flatMap((source) => known.get(source) ?? []);
    const groups = accesses.map(({ sources, ...rest }) => ({ ...rest, sources: networks(sources) }));
    return packetFilterChains(prefix, groups, family);
  };
  const ruleFiles = (known: Known): readonly Part[] =>
    families.map(({ family }) => {
      const path = `${rules}.v${family}`;
      return [`${path} `, file(path).content(restoreLines(chainsOf(known, family)))];
    });
  const named = accesses.flatMap(({ sources }) => sources);

  return {
    name: 'published ports are open to their sources alone',

    async check(host) {
      const lookedUp = lookUp(host, named);
      const [known, listings, files, hasV6, read] = await Promise.all([
        lookedUp,
        Promise.all(families.map(({ tool }) => host.$`${tool} --wait=60 -S`)),
        lookedUp.then(({ found }) => checkParts(host, [...loader, ...ruleFiles(found), atStart])),
        host.$`[ -e /proc/net/if_inet6 ]`,
        dropInIsRead(host, before, dropIn),
      ]);
      if (listings[0]?.exitCode === 127) return unknownUntil('iptables is installed');
      if (known.missing.length > 0) return refused(`this host finds no address of ${known.missing.join(', ')}`, hint);
      const differences = [
        ...files.differences,
        ...(read ? [] : [{ what: before, was: `systemd has not read ${dropIn}`, wanted: 'read' }]),
        ...families
          .filter(({ family }) => family === 4 || hasV6.ok)
          .flatMap(({ family, tool }, at) =>
            packetFilterDifferences(tool, listings[at]?.stdout ?? '', prefix, chainsOf(known.found, family)),
          ),
      ];
      const [first, last] = [files.steps.slice(0, -1).flat(), files.steps.at(-1) ?? []];
      // The drop-in is last: the engine would not start with rules that cannot be loaded.
      const steps = [...first, command`${program} ${rules} ${prefix}`, ...last, command`systemctl daemon-reload`];
      return driftOf(differences, files.refusal ?? steps);
    },
  };
}

/** True without an engine: systemd reads the drop-in together with the unit, once that is installed. */
async function dropInIsRead(host: Reader, unit: string, dropIn: string): Promise<boolean> {
  const shown =
    await host.$`systemctl show --property=LoadState --property=DropInPaths --property=NeedDaemonReload ${unit}`;
  const lines = shown.lines();
  if (lines.includes('LoadState=not-found')) return true;
  const paths = lines
    .find((line) => line.startsWith('DropInPaths='))
    ?.replace('DropInPaths=', '')
    .split(' ');
  return paths?.includes(dropIn) === true && lines.includes('NeedDaemonReload=no');
}

type Known = ReadonlyMap<string, readonly IpNetwork[]>;

/** Addresses of all sources. The rules have addresses because no name can be resolved at boot, when they are loaded. */
async function lookUp(host: Reader, sources: readonly string[]) {
  const found = new Map(
    await Promise.all(
      [...new Set(sources)].map(async (source): Promise<[string, readonly IpNetwork[]]> => {
        const network = parseIpNetwork(source);
        if (network) return [source, [network]];
        return [source, addressesIn((await host.$({ timeoutSeconds: 10 })`getent ahosts ${source}`).lines())];
      }),
    ),
  );
  return { found, missing: [...found].flatMap(([source, networks]) => (networks.length === 0 ? [source] : [])) };
}

/** @param lines such as `10.0.0.1  STREAM rpc-1`. Loopback and link-local addresses are left out: another host cannot have them. */
function addressesIn(lines: readonly string[]): IpNetwork[] {
  return lines.flatMap((line) => {
    const network = parseIpNetwork(line.split(/\s/)[0] ?? '');
    return network === undefined || /^(127\.|::1\/|fe[89ab])/.test(network.text) ? [] : [network];
  });
}
