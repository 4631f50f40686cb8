import { file } from '../file/file.ts';
import { checkParts, type Part } from '../parts.ts';
import { drift, type Resource } from '../resource.ts';
import { service, startUnit } from './service.ts';

const units = '/etc/systemd/system';

interface Schedule {
  /** Seconds from the start of one run to the start of the next. */
  readonly every: number;
  /** A line for /bin/sh. */
  readonly command: string;
  /** The purpose, as `systemctl` and the journal show it. */
  readonly description: string;
  /**
   * The folders that the command may change. With them, empty or not, it runs in a sandbox: it
   * reads files and uses the network, and changes nothing else. Without them it may do all that
   * root may.
   */
  readonly writes?: readonly string[];
}

/**
 * What a sandbox takes from a command, by systemd.exec(5). `systemd-analyze security` judges it
 * with less than 3; a service of root alone has 9.6.
 */
const sandbox = [
  'CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER',
  'LockPersonality=yes',
  'MemoryDenyWriteExecute=yes',
  'NoNewPrivileges=yes',
  'PrivateDevices=yes',
  // PrivateTmp would make and remove a folder in /var/tmp each time.
  'TemporaryFileSystem=/tmp /var/tmp',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHome=read-only',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectSystem=strict',
  // The resolver of glibc sorts addresses by netlink.
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'UMask=0077',
];

/**
 * A command that the host runs periodically, by a systemd timer. With `writes`, folders that it may
 * change, it runs in a sandbox; without, it may do all that root may.
 *
 * @param name of both units: NAME.service does the work, NAME.timer starts it
 * @example schedule('clean-reports', { every: 86400, command: 'find /srv/reports -mtime +30 -delete', description: 'Removes old reports', writes: ['/srv/reports'] })
 */
export function schedule(name: string, { every, command, description, writes }: Schedule): Resource {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name))
    throw new TypeError(`schedule "${name}": not a name for a unit`);
  for (const folder of writes ?? [])
    if (!/^\/[A-Za-z0-9._/-]+$/.test(folder))
      throw new TypeError(
        `schedule "${name}": "${folder}" is not an absolute path of letters, digits, . _ - and /`,
      );
  const timerPath = `${units}/${name}.timer`;
  const files: readonly Part[] = [
    ['', file(`${units}/${name}.service`).content(serviceUnit(description, command, writes))],
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

function serviceUnit(description: string, command: string, writes: readonly string[] | undefined): string {
  const folders = (writes ?? []).map((folder) => `ReadWritePaths=${folder}`);
  const limits = writes ? [...sandbox, ...folders].map((line) => `${line}\n`).join('') : '';
  return `[Unit]
Description=${oneLine(description)}

[Service]
Type=oneshot
ExecStart=/bin/sh -c ${quoteForUnit(command)}
${limits}`;
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
