import { ownUnits } from '../system/service.ts';

interface Units {
  /** Prefix of their names. */
  readonly product: string;
  /** The command that loads the rules where they are not loaded. */
  readonly command: string;
  /** What must not start without the rules: `docker.service`. */
  readonly protects: readonly string[];
  /** Whether networks of Docker come and go on the host. */
  readonly hasNetworks: boolean;
}

/** A file of systemd, and the unit that reads it. */
interface UnitFile {
  readonly unit: string;
  readonly path: string;
  readonly content: string;
}

/**
 * Seconds between two looks at the rules: those that somebody else removed are back within a
 * minute.
 */
const every = 30;

/**
 * Programs of distributions that load rules of their own and may remove all others: when they
 * start, and nftables when systemd reloads it. The others have no reload of their own in their
 * unit, and a second one would be the only one. Drop-ins for units that a host does not have are
 * not read.
 */
const others = [
  { unit: 'nftables.service', reloads: true },
  { unit: 'ufw.service', reloads: false },
  { unit: 'firewalld.service', reloads: false },
  { unit: 'netfilter-persistent.service', reloads: false },
] as const;

/** Names of the units that keep the rules, without those that a host does not need. */
export function keeperUnits({ product, hasNetworks }: Pick<Units, 'product' | 'hasNetworks'>) {
  return {
    service: `${product}-firewall.service`,
    timer: `${product}-firewall.timer`,
    ...(hasNetworks && { watch: `${product}-firewall-watch.service` }),
  };
}

/** The path of a unit's file. */
export const unitPath = (unit: string): string => `${ownUnits}${unit}`;

/**
 * The units that load the rules, and look every 30 s whether they are there. Nothing is stopped or
 * restarted with them.
 */
export function unitFiles(units: Units): readonly UnitFile[] {
  const { service, timer, watch } = keeperUnits(units);
  const texts = [
    [service, serviceUnit(units)],
    [timer, timerUnit()],
    ...(watch === undefined ? [] : [[watch, watchUnit(service)] as const]),
  ] as const;
  return texts.map(([unit, content]) => ({ unit, path: unitPath(unit), content }));
}

/**
 * What is protected starts after the rules, and not without them; what removes the rules of others
 * is followed by them.
 */
export function dropIns({ product, command, protects, hasNetworks }: Units): readonly UnitFile[] {
  const { service } = keeperUnits({ product, hasNetworks });
  const dropIn = (unit: string, lines: readonly string[]): UnitFile => ({
    unit,
    path: `${ownUnits}${unit}.d/${product}-firewall.conf`,
    content: `${lines.join('\n')}\n`,
  });
  const first = ['[Unit]', `Wants=${service}`, `After=${service}`, '[Service]', `ExecStartPre=+${command}`];
  return [
    ...protects.map((unit) =>
      // The engine inserts rules of its own when it starts.
      dropIn(unit, unit === 'docker.service' ? [...first, `ExecStartPost=-+${command}`] : first),
    ),
    // At a boot these come before the network, which must not wait for our rules.
    ...others.map(({ unit, reloads }) => {
      const again = `-+/usr/bin/systemctl --no-block start ${service}`;
      return dropIn(unit, [
        '[Service]',
        `ExecStartPost=${again}`,
        ...(reloads ? [`ExecReload=${again}`] : []),
      ]);
    }),
  ];
}

/**
 * Not before the network: cloud-init needs that early, and what is protected comes after this. A
 * restart of it concerns nothing else, so nothing requires it: each protected unit runs the same
 * command itself.
 */
function serviceUnit({ command, protects }: Units): string {
  return `[Unit]
Description=Rules of the firewall are loaded, and are as the last deploy wrote them
DefaultDependencies=no
Conflicts=shutdown.target
After=local-fs.target systemd-modules-load.service ${others.map(({ unit }) => unit).join(' ')}
Before=shutdown.target ${protects.join(' ')}
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=${command}
`;
}

function timerUnit(): string {
  return `[Unit]
Description=Looks every ${every} s whether somebody else removed rules of the firewall

[Timer]
OnBootSec=${every}s
OnUnitActiveSec=${every}s
# The default of a minute is too coarse.
AccuracySec=1s

[Install]
WantedBy=timers.target
`;
}

/**
 * A new network of Docker has a new bridge. The kernel announces it, and that it has its first
 * container. A start or stop of a container announces its end of the bridge ten times, with the
 * bridge's name behind it: those lines change no rule.
 */
function watchUnit(service: string): string {
  const loop = `while read -r line; do case $$line in *': br-'*) systemctl start ${service} ;; esac; done`;
  return `[Unit]
Description=Rules of the firewall follow the networks of Docker
After=docker.service

[Service]
ExecStart=/bin/sh -c "ip -o monitor link | ${loop}"
Restart=always
RestartSec=5s

[Install]
WantedBy=multi-user.target
`;
}
