import { file } from '../file/file.ts';
import { applyDrift, drift, ok, type Resource, type Verdict } from '../resource.ts';
import { service } from './service.ts';

/** A command that the host runs again and again, by a systemd timer. */
export interface ScheduleResource extends Resource {
  /** @param seconds from one run's start to the next's. Default an hour */
  every(seconds: number): ScheduleResource;
  /** @param command a line for /bin/sh */
  command(command: string): ScheduleResource;
  /** @param text what the unit is for, in `systemctl` and the journal */
  description(text: string): ScheduleResource;
}

interface Wanted {
  readonly seconds: number;
  readonly command: string;
  readonly description: string;
}

const units = '/etc/systemd/system';

/** @param name of both units: NAME.service does the work, NAME.timer starts it */
export function schedule(name: string): ScheduleResource {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) throw new TypeError(`schedule "${name}": not a name for a unit`);
  return make(name, { seconds: 3600, command: 'true', description: name });
}

function make(name: string, wanted: Wanted): ScheduleResource {
  const timerPath = `${units}/${name}.timer`;
  const files = [
    file(`${units}/${name}.service`).content(serviceUnit(wanted.description, wanted.command)),
    file(timerPath).content(timerUnit(wanted.description, wanted.seconds)),
  ];
  const timer = service(`${name}.timer`).enabled().running().restartedAfter(timerPath);

  return {
    name: `schedule ${name}`,
    every: (seconds) => make(name, { ...wanted, seconds }),
    command: (command) => make(name, { ...wanted, command }),
    description: (description) => make(name, { ...wanted, description }),

    async check(host) {
      const [timerVerdict, ...fileVerdicts] = await Promise.all([timer, ...files].map((part) => part.check(host)));
      return together(timerVerdict ?? ok, fileVerdicts);
    },

    async apply(host) {
      for (const part of files) await part.apply(host);
      // Before the timer is looked at: systemd does not know a new unit file yet.
      await host.run`systemctl daemon-reload`;
      await applyDrift(host, timer);
    },
  };
}

/** What is said of a timer whose files are not right is not worth saying. */
function together(timer: Verdict, files: readonly Verdict[]): Verdict {
  const differences = files.flatMap((verdict) => (verdict.is === 'drift' ? verdict.differences : []));
  if (differences.length > 0) return drift(differences);
  return timer.is === 'unknown' ? drift('systemd has not read its units yet') : timer;
}

function serviceUnit(description: string, command: string): string {
  return `[Unit]
Description=${oneLine(description)}

[Service]
Type=oneshot
ExecStart=/bin/sh -c ${quoteForUnit(command)}
`;
}

function timerUnit(description: string, seconds: number): string {
  return `[Unit]
Description=${oneLine(description)}

[Timer]
# The first run follows at once, when the host has been up for so long already.
OnBootSec=${seconds}s
OnUnitActiveSec=${seconds}s
# The default of a minute is too coarse for short times.
AccuracySec=1s

[Install]
WantedBy=timers.target
`;
}

/** A shell line as one word of ExecStart, where systemd itself would read `\`, `"`, `%` and `$`. */
export function quoteForUnit(command: string): string {
  if (/[\n\0]/.test(command)) throw new TypeError('a scheduled command has to be one line');
  return `"${command.replace(/[\\"]/g, '\\$&').replace(/[%$]/g, '$&$&')}"`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('%', '%%').trim();
}
