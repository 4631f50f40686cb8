import { file } from '../file/file.ts';
import { checkParts, type Part } from '../parts.ts';
import { drift, type Resource } from '../resource.ts';
import { refuseUnknownSettings } from '../settings.ts';
import { service, startUnit } from './service.ts';

const units = '/etc/systemd/system';

/** What a schedule does, and how often. */
export interface Schedule {
  /** Seconds from the start of one run to the start of the next. */
  readonly every: number;
  /** A line for /bin/sh. */
  readonly command: string;
  /** The purpose, as `systemctl` and the journal show it. */
  readonly description: string;
  /**
   * The folders that the command may change. Default: none. A folder that is missing at a start is
   * left out, and is not made.
   */
  readonly writes?: readonly string[];
  /** What else of the host the command needs. Default: nothing but to read files */
  readonly needs?: readonly Need[];
  /** False: the command may do all that root may. */
  readonly sandbox?: false;
}

const scheduleSettings = {
  every: true,
  command: true,
  description: true,
  writes: true,
  needs: true,
  sandbox: true,
} as const;

/**
 * What a sandbox can leave to a command:
 * - `network`: servers elsewhere, and ports of this host
 * - `docker`: the socket of the engine, which does what it is asked to outside of the sandbox
 * - `systemd`: the sockets of systemd and D-Bus, of which the same is true
 * - `users`: acting as another user by setpriv. runuser and sudo also set limits, which fails
 * - `disks`: reading block devices (blkid)
 * - `processes`: what belongs to the processes of others, as in /proc/PID/root
 * - `code`: a run time such as Node.js, which writes code before it runs it, and sets its limits
 */
export type Need = 'network' | 'docker' | 'systemd' | 'users' | 'disks' | 'processes' | 'code';

/** What a sandbox takes from every command, by systemd.exec(5). */
const always = [
  'LockPersonality=yes',
  'NoNewPrivileges=yes',
  'PrivateMounts=yes',
  // PrivateTmp would make and remove a folder in /var/tmp each time.
  'TemporaryFileSystem=/tmp:mode=1777 /var/tmp:mode=1777',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHome=read-only',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectSystem=strict',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  // A program that may do without a call goes on without it.
  'SystemCallErrorNumber=EPERM',
  'UMask=0077',
];

/** What it takes from a command without the need. */
const without: Readonly<Record<Need, readonly string[]>> = {
  network: ['PrivateNetwork=yes', 'IPAddressDeny=any'],
  docker: ['InaccessiblePaths=-/run/docker.sock -/run/containerd/containerd.sock'],
  systemd: ['InaccessiblePaths=-/run/systemd/private -/run/dbus/system_bus_socket'],
  users: ['SystemCallFilter=~@setuid'],
  disks: ['PrivateDevices=yes'],
  processes: ['ProtectProc=invisible'],
  code: ['MemoryDenyWriteExecute=yes', 'SystemCallFilter=~@resources'],
};

/** The capabilities of root that a command keeps with a need. */
const capabilities: Partial<Record<Need, readonly string[]>> = {
  users: ['CAP_SETUID', 'CAP_SETGID'],
  processes: ['CAP_SYS_PTRACE'],
};

/** A word of a unit: systemd.syntax(7) has the quotes, systemd.unit(5) what `%` stands for. */
function word(text: string): string {
  const escaped = text.replaceAll('%', '%%');
  if (/^[A-Za-z0-9%._/-]+$/.test(escaped)) return escaped;
  return `"${escaped.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * The lines of a sandbox. `systemd-analyze security` judges each with 3 at most; a service of root
 * alone has 9.6.
 */
function sandboxLines(writes: readonly string[], needs: readonly Need[]): readonly string[] {
  const names = Object.keys(without) as Need[];
  const has = (need: Need) => needs.includes(need);
  const kept = ['CAP_DAC_OVERRIDE', 'CAP_FOWNER', ...needs.flatMap((need) => capabilities[need] ?? [])];
  // The resolver of glibc sorts addresses by netlink, and PAM writes to the audit by it.
  const families = ['AF_UNIX', ...(has('network') ? ['AF_INET', 'AF_INET6'] : [])];
  if (has('network') || has('users')) families.push('AF_NETLINK');
  return [
    ...always,
    `CapabilityBoundingSet=${kept.join(' ')}`,
    `RestrictAddressFamilies=${families.join(' ')}`,
    ...names.filter((name) => !has(name)).flatMap((name) => without[name]),
    ...(has('disks') ? ['DevicePolicy=closed', 'DeviceAllow=block-* r'] : []),
    ...writes.map((folder) => `ReadWritePaths=${word(`-${folder}`)}`),
  ];
}

/**
 * A command that the host runs periodically, by a systemd timer, in a sandbox: it reads files.
 * `writes` has the folders that it may change, and `needs` what else it may use: `network`,
 * `docker`, `systemd`, `users`, `disks`, `processes`, `code`. With `sandbox: false` it may do all
 * that root may.
 *
 * @param name of both units: NAME.service does the work, NAME.timer starts it
 * @example schedule('clean-reports', { every: 86400, command: 'find /srv/reports -mtime +30 -delete', description: 'Removes old reports', writes: ['/srv/reports'] })
 */
export function schedule(name: string, what: Schedule): Resource {
  refuseUnknownSettings(`schedule ${name}`, what, scheduleSettings);
  const { every, description, writes, needs, sandbox } = what;
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name))
    throw new TypeError(`schedule "${name}": not a name for a unit`);
  for (const folder of writes ?? [])
    if (!/^\/[^\n\r\0]+$/.test(folder))
      throw new TypeError(`schedule "${name}": "${folder}" is not an absolute path in one line`);
  if (sandbox === false && (writes || needs))
    throw new TypeError(`schedule "${name}": writes and needs are of the sandbox that sandbox: false lifts`);
  const timerPath = `${units}/${name}.timer`;
  const files: readonly Part[] = [
    ['', file(`${units}/${name}.service`).content(serviceUnit(what))],
    ['', file(timerPath).content(timerUnit(description, every))],
  ];
  const unit = `${name}.timer`;

  return {
    name: `schedule ${name}`,

    async check(host) {
      const [state, started, { differences, refusal, steps }] = await Promise.all([
        host.unit(unit),
        service(unit, [timerPath]).check(host),
        checkParts(host, files),
      ]);
      const change = refusal ?? [...steps.flat(), startUnit(unit, state, true)];
      // The state of a timer is not shown while its files differ.
      if (differences.length > 0) return drift(differences, change);
      return started.is === 'unknown' ? drift('systemd has not read its units yet', change) : started;
    },
  };
}

function serviceUnit({ description, command, writes = [], needs = [], sandbox }: Schedule): string {
  const limits = sandbox === false ? [] : sandboxLines(writes, needs).map((line) => `${line}\n`);
  return `[Unit]
Description=${oneLine(description)}

[Service]
Type=oneshot
ExecStart=/bin/sh -c ${quoteForUnit(command)}
${limits.join('')}`;
}

function timerUnit(description: string, seconds: number): string {
  return `[Unit]
Description=${oneLine(description)}

[Timer]
# The first run follows at once where the host has been up for so long.
OnBootSec=${seconds}s
OnUnitActiveSec=${seconds}s
# The default of a minute is too coarse for short times.
AccuracySec=1s

[Install]
WantedBy=timers.target
`;
}

/**
 * A shell line as one word of ExecStart, where systemd itself would read `\`, `"`, `%` and `$`.
 */
function quoteForUnit(command: string): string {
  if (/[\n\0]/.test(command)) throw new TypeError('a scheduled command has to be one line');
  return `"${command.replace(/[\\"]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('%', '%%').trim();
}
