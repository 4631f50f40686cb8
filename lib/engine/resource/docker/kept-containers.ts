import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reader } from '../../host/host.ts';
import { command, makeDirectory } from '../../host/step.ts';
import { directory } from '../file/directory.ts';
import { readText } from '../file/edited-text.ts';
import { file } from '../file/file.ts';
import { jsonFile } from '../file/json-file.ts';
import { checkParts, type Part } from '../parts.ts';
import { drift, driftOf, expectation, fileChange, ok, type Resource } from '../resource.ts';
import { dropIn } from '../system/drop-in.ts';
import { settings } from './data-root.ts';
import { engineInfo } from './docker-engine.ts';

const script = readFileSync(new URL('../../../../templates/host/engine-containers.sh', import.meta.url));
const key = 'live-restore';
/** The difference of the engine's settings. */
const setting = `${settings} content`;

/**
 * How long docker.service may take to stop: the longest time of a container (`stop_grace_period`
 * of a database), and some. Seconds.
 */
const stopLimit = 150;

/**
 * Containers outlive the Docker engine: they run on while it is away (live-restore), and it comes
 * back however often it is killed. When the host stops, they get the signal and the time that the
 * engine would give them. Some engines have no live-restore: those of a swarm, and those whose
 * settings say `false`. After a kill they stop all containers at their next start; then these are
 * started again.
 *
 * The engine reads the setting without a restart
 * (https://docs.docker.com/engine/daemon/live-restore/).
 *
 * @param product begins the names of files on the host
 */
export function containersOutliveEngine(product: string): Resource[] {
  const program = `/usr/local/lib/${product}/engine-containers`;
  const parts: readonly Part[] = [
    [`${dirname(program)} `, directory(dirname(program))],
    [`${program} `, file(program).content(script).mode(0o755)],
    ['', dropIn('docker.service', `${product}-containers`, unitPart(program, `/run/${product}-engine`))],
    ['', settingIsMade],
  ];
  return [
    {
      name: 'containers outlive the docker engine',
      changes: (differences) =>
        differences.some(({ what }) => what === setting) ? [fileChange(settings)] : [],

      async check(host) {
        const { differences, refusal, steps } = await checkParts(host, parts);
        return driftOf(differences, refusal ?? steps.flat());
      },
    },
    expectation('docker keeps containers running while it is away', {
      severity: 'should',
      check: async (host) => {
        const { blocked } = await liveRestore(host);
        return blocked === undefined ? ok : drift(blocked);
      },
      hint: 'after a crash of the engine its containers are stopped and started again; with live-restore they run on',
    }),
  ];
}

/**
 * A part of docker.service. A dash: a failure of the program is no reason not to start or stop the
 * engine.
 */
function unitPart(program: string, folder: string): string {
  const run = (verb: string) => `-${program} ${folder} ${verb}`;
  return `[Unit]
# However often it is killed, as by the kernel where memory runs out.
StartLimitIntervalSec=0

[Service]
Restart=always
RestartSec=2
ExecStartPre=${run('begin')}
ExecStartPost=${run('start')}
ExecStop=${run('note')}
ExecStopPost=${run('stop')}
TimeoutStopSec=${stopLimit}
`;
}

interface LiveRestore {
  readonly isRunning: boolean;
  /** What the running engine says. */
  readonly isOn: boolean;
  /** The setting on the engine's command line, or empty. */
  readonly flag: string;
  /** Why it must not be set. */
  readonly blocked: string | undefined;
}

async function liveRestore(host: Reader): Promise<LiveRestore> {
  const [info, flag, swarm, file] = await Promise.all([
    engineInfo(host),
    host.$`p=$(systemctl show --property MainPID --value docker.service) && tr '\\0' '\\n' <"/proc/$p/cmdline" | grep -e --live-restore`,
    // Of a stopped one.
    host.$`[ -e /var/lib/docker/swarm/docker-state.json ]`,
    readText(host, settings),
  ]);
  const isSwarm = info?.isSwarm ?? swarm.ok;
  const seen = { isRunning: info !== undefined, isOn: info?.keepsContainers ?? false, flag: flag.text() };
  return { ...seen, blocked: reasonAgainst(seen, isSwarm, file?.text ?? '') };
}

/**
 * @param text of the engine's settings
 */
function reasonAgainst({ isOn, flag }: Pick<LiveRestore, 'isOn' | 'flag'>, isSwarm: boolean, text: string) {
  if (isSwarm) return `docker is part of a swarm, which does not start with ${key}`;
  if (flag !== '' && !isOn) return `docker is started with ${flag}`;
  // What the operator has decided stays.
  if (new RegExp(`"${key}"\\s*:\\s*false`).test(text)) return `${settings} says ${key}: false`;
  return undefined;
}

/** The engine has the setting, where nothing speaks against it. */
const settingIsMade: Resource = {
  name: key,
  async check(host) {
    const [{ isRunning, isOn, flag, blocked }, inFile, folder, file, unit] = await Promise.all([
      liveRestore(host),
      checkParts(host, [[`${settings} `, jsonFile(settings, { [key]: true })]]),
      host.stat(dirname(settings)),
      host.stat(settings),
      host.unit('docker.service'),
    ]);
    // With a setting both on the command line and in the file the engine does not start.
    if (blocked !== undefined || flag !== '') return ok;
    if (inFile.differences.length === 0) {
      if (!isRunning || isOn) return ok;
      return drift([{ what: key, was: 'not read by the engine', wanted: 'true' }], [reload]);
    }
    // Before the engine is installed.
    const made = folder ? [] : [makeDirectory(dirname(settings))];
    const steps = [...made, ...inFile.steps.flat(), ...(isRunning ? [reload] : [])];
    const read = file?.modified ?? unit.activeSince;
    // What else is new in the file may need the restart.
    if (!isRunning || read > unit.activeSince) return drift(inFile.differences, inFile.refusal ?? steps);
    const byReload = inFile.differences.map((each) => ({ ...each, what: `${each.what}${withoutRestart}` }));
    return drift(
      byReload,
      inFile.refusal ?? [...steps, command`touch --date=@${Math.floor(read)} ${settings}`],
    );
  },
};

/**
 * Ends the difference of settings that a reload is enough for. Their file keeps the time that it
 * had: one that is newer than the engine's start asks for a restart.
 */
const withoutRestart = ', read without a restart';

/** The engine reads its settings, and says that it has. */
const reload = command`
  systemctl reload docker.service || exit
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(docker info --format ${'{{.LiveRestoreEnabled}}'})" != true ] || exit 0
    sleep 0.5
  done
  journalctl --no-pager --quiet -o cat -n 5 -u docker.service >&2
  exit 1`;
