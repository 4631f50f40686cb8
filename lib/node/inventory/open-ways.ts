import { hostOfUrl, isLoopback } from '../../engine/inventory/address.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { networkHas, parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import { isMonitor } from '../variables/monitoring.ts';
import { isOfStorage } from '../variables/s3.ts';
import type { RawVariables } from '../variables/variables.ts';

type Host = LoadedInventory<RawVariables>['hosts'][number];

interface OpenWay {
  readonly path: readonly string[];
  readonly what: string;
  readonly hint: string;
}

/** A network with fewer bits is no network of an operator alone. A whole provider has /32 of IPv6. */
const leastBits = { 4: 8, 6: 32 };

const privateOf6 = 'fc00::/7';
const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', privateOf6];

/**
 * Warnings for what an inventory leaves open to others: ports for everybody, beside JSON-RPC, and
 * files that somebody on the way could replace. Each place has one.
 */
export function openWays({ hosts, placeOf }: LoadedInventory<RawVariables>): Problem[] {
  const warnings = hosts.flatMap((host) =>
    [...openNetworks(host), ...plainManifest(host), ...plainSource(host)].map(
      ({ path, what, hint }) => new Problem(what, { where: placeOf(host.name, path), hint }),
    ),
  );
  return eachOnce(warnings);
}

/** Without those that another host has in the same words at the same place. */
export function eachOnce(warnings: readonly Problem[]): Problem[] {
  const placed = ({ where, message }: Problem) => JSON.stringify([where, message]);
  return [...new Map(warnings.map((each) => [placed(each), each])).values()];
}

/** The lists of who reaches ports other than JSON-RPC: each with what everybody may do, and a hint. */
function openNetworks(host: Host): OpenWay[] {
  const { firewall, monitoring } = host.vars;
  const lists: readonly (readonly [path: readonly string[], networks: readonly string[], string, string])[] =
    [
      [
        ['firewall', 'internal'],
        firewall.internal,
        'connect to the databases and provers',
        'name the networks of your own machines; the hosts of the inventory are let in without it',
      ],
      [
        ['firewall', 'connects_from'],
        firewall.connects_from ?? [],
        'connect to what the other hosts open to this one, such as databases and metrics',
        'name the addresses that this host itself connects from',
      ],
      [
        ['firewall', 'metrics'],
        firewall.metrics,
        'read the metrics of nodes and gateways',
        'name the servers that read metrics; the monitor is let in without it',
      ],
      [
        ['monitoring', 'scrape_from'],
        monitoring.scrape_from,
        'read the metrics of all hosts',
        'name your own Prometheus servers',
      ],
      [
        ['monitoring', 'clients'],
        isMonitor(host) ? monitoring.clients : [],
        'read Prometheus and silence alerts in Alertmanager: they ask for no login',
        'name the addresses of your operators, and of servers such as Grafana',
      ],
    ];
  return lists.flatMap(([path, networks, may, hint]) =>
    networks
      .filter(isWide)
      .map((network) => ({ path, what: `${path.join('.')} has ${network}: everybody may ${may}`, hint })),
  );
}

function isWide(text: string): boolean {
  const network = parseIpNetwork(text);
  const [first = '', bits] = network?.text.split('/') ?? [];
  return network !== undefined && Number(bits) < leastBits[network.family] && !networkHas(privateOf6, first);
}

function plainManifest({ vars: { snapshot } }: Host): OpenWay[] {
  const { manifest = '', s3 } = snapshot;
  const isWeb = /^http:/i.test(manifest);
  const isPlainStorage = isOfStorage(manifest) && /^http:/i.test(s3?.endpoint ?? '');
  if (!isWeb && !isPlainStorage) return [];
  const [path, server, comes] = isWeb
    ? (['snapshot.manifest', 'web server', 'comes over http://, and has'] as const)
    : (['snapshot.s3.endpoint', 'storage', 'is http://, and the manifest there has'] as const);
  return [
    {
      path: path.split('.'),
      what: `${path} ${comes} the checksums of the snapshot: somebody between you and the ${server} can change both`,
      hint: 'use https://, or put a copy of it beside the inventory and name the folder in snapshot.from',
    },
  ];
}

/** Nobody but the operator is between machines of a private network, as in a lab. */
function plainSource({ vars: { snapshot } }: Host): OpenWay[] {
  const { repository } = (snapshot.restore_with === 'source' && snapshot.source) || {};
  const [, scheme] = /^(http|git):\/\//i.exec(repository ?? '') ?? [];
  if (repository === undefined || scheme === undefined || !URL.canParse(repository)) return [];
  const host = hostOfUrl(repository);
  if (isLoopback(host) || privateNetworks.some((network) => networkHas(network, host))) return [];
  return [
    {
      path: ['snapshot', 'source', 'repository'],
      what: `snapshot.source.repository comes over ${scheme.toLowerCase()}://, and its Makefile is run as root: somebody between the server and the repository can change it`,
      hint: 'use https:// or ssh://, or say restore_with: image',
    },
  ];
}
