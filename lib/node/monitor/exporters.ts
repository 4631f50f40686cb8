import { readFileSync } from 'node:fs';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory, file, packages, schedule } from '../../engine/resource/kinds.ts';
import { probe } from '../../engine/resource/network/http.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { serverFile, trustedFile } from '../databases/tls-files.ts';
import { certificateFile } from '../gateway/paths.ts';
import { layer1Answer } from '../layer1/answer.ts';
import { renderHost } from '../render/render.ts';
import type { RenderContext } from '../render/render-context.ts';
import { firewallState } from '../server/firewall-state.ts';
import { product } from '../server/product.ts';
import { postgresPrograms } from '../variables/generation.ts';
import { choosesLayer1, layer1Url } from '../variables/layer1.ts';
import { isWithoutNode, monitoringPorts } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { packageUnit } from './package-unit.ts';
import { statisticsPassword, statisticsRole, statisticsRoleIsThere } from './statistics-role.ts';
import { metricsProgram, textfiles } from './textfiles.ts';

const fromTemplates = (name: string) =>
  readFileSync(new URL(`../../../templates/host/${name}`, import.meta.url));
const library = `/usr/local/lib/${product}`;
const settings = `/etc/${product}/metrics.conf`;

/** What our own script keeps between two runs. */
const metricsState = `/var/lib/${product}/metrics`;

/** Seconds between two runs of our own script, as between two scrapes. */
const every = 15;

/** What rules and dashboards use, and little more: the default collectors cost twice as much. */
const collectors = [
  ...[
    'conntrack',
    'cpu',
    'diskstats',
    'filefd',
    'filesystem',
    'loadavg',
    'meminfo',
    'netdev',
    'pressure',
    'stat',
    'textfile',
  ],
  ...['time', 'uname', 'vmstat'],
];

/**
 * node_exporter, with our own metrics of containers, chain and clock in its textfile collector.
 * The role firewall has made the folders of our files.
 */
export async function hostExporter(context: Context<Variables>): Promise<Resource[]> {
  return [
    // It reads the end of certificates.
    ...(context.vars.tls ? [packages('openssl')] : []),
    ...packageUnit({
      name: 'prometheus-node-exporter',
      options: [
        `--web.listen-address=:${monitoringPorts.host}`,
        '--collector.disable-defaults',
        ...collectors.map((name) => `--collector.${name}`),
        `--collector.textfile.directory=${textfiles}`,
        '--collector.filesystem.fs-types-exclude=^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|pstore|ramfs|rpc_pipefs|securityfs|squashfs|sysfs|tmpfs|tracefs)$$',
      ],
    }),
    file(`${library}/node-metrics`).content(metricsProgram('node-metrics')).mode(0o755),
    file(`${library}/probe`).content(probe).mode(0o755),
    file(`${library}/degraded-arrays`).content(fromTemplates('degraded-arrays.sh')).mode(0o755),
    ...['node-metrics.help', ...(context.host.groups.includes('replica') ? ['replica.sql'] : [])].map(
      (name) => file(`${library}/${name}`).content(fromTemplates(name)),
    ),
    file(settings).content(await metricsSettings(context)),
    directory(metricsState),
    schedule(`${product}-metrics`, {
      every,
      command: `${library}/node-metrics ${settings}`,
      description: 'Metrics of the RPC node for Prometheus',
      writes: [metricsState, textfiles],
      needs: ['network', 'docker', 'systemd', 'disks', 'processes'],
    }),
  ];
}

/** The settings file of templates/host/node-metrics.sh. */
async function metricsSettings(context: RenderContext) {
  const { host, vars } = context;
  const { network, credentials, ports, monitoring, gateway } = vars;
  const { services } = await renderHost(context);
  const isDatabase = host.groups.includes('database');
  const isReplica = host.groups.includes('replica');
  const text = shellSettings({
    CONTAINERS: Object.entries(services)
      .flatMap(([name, service]) => (service ? [name] : []))
      .join(' '),
    SEQUENCER: isWithoutNode(host) ? '' : network.trusted_sequencer_url,
    OWN: isDatabase || isReplica ? '' : `http://127.0.0.1:${ports.rpc_http}`,
    LAYER1: isDatabase ? layer1Url(vars) : '',
    ...(isDatabase && choosesLayer1(vars) && { PROVIDERS: layer1Answer(vars) }),
    STATE_USER: credentials.state.user,
    STATE_DATABASE: credentials.state.database,
    // Debian's own `psql` is a program that looks for this one, for longer than it runs.
    PSQL: `${postgresPrograms}/psql`,
    ...(isReplica && { REPLICA: 'yes' }),
    CERTIFICATES: [
      ...monitoring.certificates,
      ...(gateway.tls ? [certificateFile(gateway.tls)] : []),
      ...(vars.tls && (isDatabase || isReplica) ? [serverFile, trustedFile] : []),
    ].join(' '),
    FIREWALL: firewallState,
    TEXTFILES: textfiles,
    STATE: metricsState,
  });
  // Providers put a key into the path.
  return secretContent(text, /^(SEQUENCER|LAYER1)=/);
}

/** postgres_exporter of the Database+Sync server, with a role of its own in the state database. */
export function databaseExporter(vars: Variables): Resource[] {
  return packageUnit({
    name: 'prometheus-postgres-exporter',
    options: [`--web.listen-address=:${monitoringPorts.postgres}`],
    environment: {
      DATA_SOURCE_URI: `127.0.0.1:${vars.ports.state_db}/${vars.credentials.state.database}?sslmode=disable`,
      DATA_SOURCE_USER: statisticsRole,
      DATA_SOURCE_PASS_FILE: statisticsPassword,
    },
    reads: [statisticsPassword],
    before: [statisticsRoleIsThere(vars)],
  });
}
