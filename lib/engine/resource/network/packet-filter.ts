import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reader, Writer } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { directory } from '../file/directory.ts';
import { file } from '../file/file.ts';
import { type Difference, drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { type IpNetwork, parseIpNetwork } from './ip-network.ts';
import { type GuardedPort, packetFilterChains, packetFilterDifferences, restoreLines } from './packet-filter-rules.ts';

const script = readFileSync(new URL('../../../../templates/host/firewall.sh', import.meta.url));
const program = '/usr/local/lib/rpc-node/firewall';
const rules = '/etc/rpc-node/firewall';
const dropIn = '/etc/systemd/system/docker.service.d/rpc-node-firewall.conf';

/** Ports that the same sources may connection: addresses, networks, or names that the host itself looks up. */
export interface Access {
  /** Ends the name of its chain: `METRICS`. */
  readonly name: string;
  readonly ports: readonly GuardedPort[];
  readonly sources: readonly string[];
}

const families = [
  { family: 4, tool: 'iptables', path: `${rules}.v4` },
  { family: 6, tool: 'ip6tables', path: `${rules}.v6` },
] as const;

/**
 * Ports that containers publish are reached by their sources alone, over IPv4 and IPv6. The Docker engine publishes past the chain
 * INPUT and what guards it, so the rules are in chains of their own, to which DOCKER-USER leads. They are put in place before each
 * start of the engine, and the engine is not started without them. No other port of the host is concerned.
 *
 * @param prefix begins the names of the chains
 * @param hint what to do about a source's name that the host cannot look up
 */
export function packetFilter(prefix: string, accesses: readonly Access[], hint: string): Resource {
  const loader: readonly Part[] = [
    ...[program, rules, dropIn].map(dirname).map((path) => ({ path, resource: directory(path) })),
    { path: program, resource: file(program).content(script).mode(0o755) },
  ];
  const atStart: Part = {
    path: dropIn,
    resource: file(dropIn).content(`[Service]\nExecStartPre=${program} ${rules} ${prefix}\n`),
  };
  const chainsOf = (known: Known, family: 4 | 6) =>
    packetFilterChains(
      prefix,
      accesses.map(({ sources, ...rest }) => ({
        ...rest,
        sources: sources.flatMap((source) => known.get(source) ?? []),
      })),
      family,
    );
  const ruleFiles = (known: Known): readonly Part[] =>
    families.map(({ family, path }) => ({
      path,
      resource: file(path).content(restoreLines(chainsOf(known, family))),
    }));
  const named = accesses.flatMap(({ sources }) => sources);

  return {
    name: 'published ports are open to those who need them alone',

    async check(host) {
      const looking = lookUp(host, named);
      const [known, listings, files, hasV6, read] = await Promise.all([
        looking,
        Promise.all(families.map(({ tool }) => host.$`${tool} --wait=60 -S`)),
        looking.then(({ found }) => differencesOf(host, [...loader, ...ruleFiles(found), atStart])),
        host.$`[ -e /proc/net/if_inet6 ]`,
        dropInIsRead(host),
      ]);
      if (listings[0]?.exitCode === 127) return unknownUntil('iptables is installed');
      if (known.missing.length > 0) return drift(notFound(known.missing));
      const differences = [
        ...files,
        ...(read ? [] : [{ what: 'docker.service', was: `systemd has not read ${dropIn}`, wanted: 'read' }]),
        ...families
          .filter(({ family }) => family === 4 || hasV6.ok)
          .flatMap(({ family, tool }, at) =>
            packetFilterDifferences(tool, listings[at]?.stdout ?? '', prefix, chainsOf(known.found, family)),
          ),
      ];
      return differences.length === 0 ? ok : drift(differences);
    },

    async apply(host) {
      const known = await lookUp(host, named);
      if (known.missing.length > 0) throw new Problem(notFound(known.missing), { hint, code: exitCode.failed });
      for (const part of [...loader, ...ruleFiles(known.found)]) await bringTo(host, part);
      await host.run`${program} ${rules} ${prefix}`;
      // Last: the engine would not start with rules that cannot be loaded.
      await bringTo(host, atStart);
      await host.run`systemctl daemon-reload`;
    },
  };
}

/** What lies on the host. */
interface Part {
  readonly path: string;
  readonly resource: Resource;
}

async function bringTo(host: Writer, { resource }: Part): Promise<void> {
  if ((await resource.check(host)).is !== 'ok') await resource.apply(host);
}

async function differencesOf(host: Reader, parts: readonly Part[]): Promise<Difference[]> {
  const found = await Promise.all(
    parts.map(async ({ path, resource }) => {
      const verdict = await resource.check(host);
      const differences = verdict.is === 'drift' ? verdict.differences : [];
      return differences.map((difference) => ({ ...difference, what: `${path} ${difference.what}` }));
    }),
  );
  return found.flat();
}

/** Where there is no engine yet, it comes with its unit, and systemd reads both. */
async function dropInIsRead(host: Reader): Promise<boolean> {
  const shown =
    await host.$`systemctl show --property=LoadState --property=DropInPaths --property=NeedDaemonReload docker.service`;
  const lines = shown.lines();
  if (lines.includes('LoadState=not-found')) return true;
  const paths = lines
    .find((line) => line.startsWith('DropInPaths='))
    ?.replace('DropInPaths=', '')
    .split(' ');
  return paths?.includes(dropIn) === true && lines.includes('NeedDaemonReload=no');
}

type Known = ReadonlyMap<string, readonly IpNetwork[]>;

/** The rules hold addresses: at boot, when they are needed, no name can be looked up yet. */
async function lookUp(
  host: Reader,
  sources: readonly string[],
): Promise<{ readonly found: Known; readonly missing: readonly string[] }> {
  const found = new Map<string, readonly IpNetwork[]>();
  const names: string[] = [];
  for (const source of new Set(sources)) {
    const network = parseIpNetwork(source);
    if (network) found.set(source, [network]);
    else names.push(source);
  }
  const answers = await Promise.all(names.map((name) => host.$({ timeoutSeconds: 10 })`getent ahosts ${name}`));
  const missing = names.filter((name, at) => {
    const networks = addressesIn(answers[at]?.lines() ?? []);
    found.set(name, networks);
    return networks.length === 0;
  });
  return { found, missing };
}

/** @param lines such as `10.0.0.1  STREAM rpc-1`. What only the host itself has (loopback, link-local) is nobody else's address. */
function addressesIn(lines: readonly string[]): IpNetwork[] {
  return lines.flatMap((line) => {
    const network = parseIpNetwork(line.split(/\s/)[0] ?? '');
    return network === undefined || /^(127\.|::1\/|fe[89ab])/.test(network.text) ? [] : [network];
  });
}

function notFound(names: readonly string[]): string {
  return `no address is found here for ${names.join(', ')}`;
}
