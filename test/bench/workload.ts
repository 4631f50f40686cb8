/** The wanted state of every host, the same for all tools, as data: about 60 resources. */
export interface Workload {
  readonly packages: readonly string[];
  readonly groups: readonly { readonly name: string; readonly gid: number }[];
  readonly users: readonly { readonly name: string; readonly uid: number; readonly group: string }[];
  readonly directories: readonly Located[];
  readonly files: readonly (Located & { readonly content: string })[];
  /** Kernel settings: each is in /etc/sysctl.d and in effect. */
  readonly sysctl: readonly { readonly key: string; readonly value: string }[];
  /** Enabled and running. */
  readonly units: readonly string[];
  readonly timezone: string;
  /** Required lines of /etc/hosts. */
  readonly hostsLines: readonly string[];
  /** Ports on which nothing may listen. */
  readonly freePorts: readonly number[];
  /** Requirements of a host that are checked first. Memory and disk in bytes. */
  readonly preflight: {
    readonly distribution: string;
    readonly version: string;
    readonly architecture: string;
    readonly memory: number;
    readonly processors: number;
    readonly kernelMajor: number;
  };
}

interface Located {
  readonly path: string;
  /** As chmod has it: `0640`. */
  readonly mode: string;
  readonly owner: string;
  readonly group: string;
}

const top = '/srv/ledger';
const settings = { network: 'bench', chain_id: 55555, rpc_port: 18123, metrics_port: 19091, peers: 25 };

/** Start values of the varying resources of each kind: path, mode, owner. */
const directories: readonly Located[] = [
  { path: top, mode: '0755', owner: 'root', group: 'root' },
  ...['config', 'config/certificates', 'config/rules', 'bin', 'log'].map((name) =>
    located(name, '0755', 'root'),
  ),
  ...['data', 'data/state', 'data/pool'].map((name) => located(name, '0750', 'ledger')),
  ...['relay', 'relay/queue', 'relay/sent'].map((name) => located(name, '0770', 'relay')),
];

const unit = (name: string, content: string) => ({
  path: `/etc/systemd/system/${name}`,
  mode: '0644',
  owner: 'root',
  group: 'root',
  content,
});

const daemon = (description: string) => `[Unit]
Description=${description}

[Service]
ExecStart=/bin/sleep infinity

[Install]
WantedBy=multi-user.target
`;

const files: Workload['files'] = [
  ...Array.from({ length: 6 }, (_, at) => ({
    ...located(`config/rules/${at + 1}.conf`, '0644', 'root'),
    content: Array.from({ length: 20 }, (_line, row) => `rule.${at + 1}.${row + 1} = allow\n`).join(''),
  })),
  ...['node', 'pool', 'relay', 'metrics', 'alerts'].map((name) => ({
    ...located(`config/${name}.toml`, '0640', 'ledger'),
    content: `# ${name}\n${Object.entries(settings)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join('')}name = "${name}"\n`,
  })),
  unit('ledger-node.service', daemon('ledger node')),
  unit('ledger-relay.service', daemon('ledger relay')),
  unit(
    'ledger-report.service',
    '[Unit]\nDescription=ledger report\n\n[Service]\nType=oneshot\nExecStart=/bin/true\n',
  ),
  unit(
    'ledger-report.timer',
    '[Unit]\nDescription=ledger report\n\n[Timer]\nOnCalendar=monthly\n\n[Install]\nWantedBy=timers.target\n',
  ),
];

/**
 * The file that differs in the cases `check` and `change`: nothing has to be restarted after it.
 */
export const changedFile = `${top}/config/rules/3.conf`;

export const workload: Workload = {
  packages: ['ca-certificates', 'openssl', 'tzdata', 'iproute2', 'procps', 'sudo', 'cron'],
  groups: [
    { name: 'ledger', gid: 3001 },
    { name: 'relay', gid: 3002 },
  ],
  users: [
    { name: 'ledger', uid: 3001, group: 'ledger' },
    { name: 'relay', uid: 3002, group: 'relay' },
    { name: 'watcher', uid: 3003, group: 'ledger' },
  ],
  directories,
  files,
  // Network settings: a host in a network namespace has its own.
  sysctl: [
    { key: 'net.ipv4.tcp_keepalive_time', value: '600' },
    { key: 'net.ipv4.tcp_keepalive_intvl', value: '30' },
    { key: 'net.ipv4.tcp_fin_timeout', value: '45' },
    { key: 'net.core.somaxconn', value: '8192' },
  ],
  units: ['cron.service', 'ledger-node.service', 'ledger-relay.service', 'ledger-report.timer'],
  timezone: 'Etc/UTC',
  hostsLines: ['10.90.1.1 state-db', '10.90.1.2 pool-db', '10.90.1.3 sequencer', '10.90.1.4 prover'],
  freePorts: [18123, 19091, 15432, 15433, 16060],
  preflight: {
    distribution: 'debian',
    version: '12',
    architecture: 'x86_64',
    memory: 512 * 2 ** 20,
    processors: 1,
    kernelMajor: 4,
  },
};

function located(name: string, mode: string, owner: string): Located {
  return { path: `${top}/${name}`, mode, owner, group: owner };
}
