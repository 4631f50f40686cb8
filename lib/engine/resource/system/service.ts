import type { Reader, UnitState } from '../../host/host.ts';
import { lastWords } from '../../host/last-words.ts';
import { command, type Step } from '../../host/step.ts';
import { Failure } from '../../problem/problem.ts';
import {
  type Change,
  drift,
  driftOf,
  fileChange,
  type Resource,
  refused,
  unitChange,
  unknownUntil,
} from '../resource.ts';
import { refuseNoText } from '../settings.ts';

/** The folder of units, and of parts of units, that are not from packages. */
export const ownUnits = '/etc/systemd/system/';

/**
 * States that need no `enable`: `static` has nothing to enable, the others are enabled by another
 * name or a generator.
 */
const counted = ['enabled', 'static', 'alias', 'generated'];

/**
 * A systemd unit that is enabled, running, and started after the last change of the files that it
 * reads. The time of the start and of the files is read from the host, so that the next run
 * completes an interrupted one. A unit that only another one starts, as a socket does, is refused:
 * name that one.
 *
 * @param name without a suffix it is a service
 * @param reads files: the unit is restarted when one of them is newer than its start
 * @example service('chrony', ['/etc/chrony/chrony.conf'])
 */
export function service(name: string, reads: readonly string[] = []): Resource {
  refuseNoText('service', { name });
  const unit = /\.(service|timer|socket|mount|path|target|slice|scope)$/.test(name)
    ? name
    : `${name}.service`;
  return {
    name: `${unit} is enabled and running`,
    changes: () => [unitChange(unit)],
    follows: reads.map((path) => ({ what: fileChange(path), effect: 'is restarted', certain: true })),

    async check(host) {
      const [state, ...stats] = await Promise.all([host.unit(unit), ...reads.map((path) => host.stat(path))]);
      const newer = reads.filter((_, at) => (stats[at]?.modified ?? 0) > state.activeSince);
      // A program that its package has started with its own settings keeps starting, after our
      // file came too, and never reads it.
      const isUnread =
        isActive(state) && state.needsReload && reads.some((path) => path.startsWith(ownUnits));
      if (state.load === 'not-found') return unknownUntil(`${unit} is installed`);
      const others = state.enabled === 'indirect' ? await enabledInstead(host, unit) : '';
      if (others !== '')
        return refused(
          `${unit} is not enabled by itself, but by ${others}`,
          `name ${others} in the role, in place of it`,
        );
      const change = changeOf(unit, state, newer.length > 0 || isUnread);
      if (state.lastWords !== undefined)
        return drift(`it ended just after its start:\n${state.lastWords}`, change);
      const differences = [
        ...(isEnabled(state)
          ? []
          : [{ what: 'at boot', was: state.enabled || state.load, wanted: 'enabled' }]),
        ...(isActive(state)
          ? []
          : [{ what: 'state', was: `${state.active} (${state.sub})`, wanted: 'active' }]),
        ...(isActive(state) ? newer : []).map((path) => ({
          what: 'started',
          was: `before ${path} changed`,
          wanted: 'after it',
        })),
        ...(isUnread
          ? [{ what: 'files of the unit', was: 'another state of them', wanted: 'as they are' }]
          : []),
      ];
      return driftOf(differences, change);
    },
  };
}

/** The units that `systemctl enable` enables in place of a unit, by `Also=`. */
async function enabledInstead(host: Reader, unit: string): Promise<string> {
  const text = (await host.$`systemctl cat -- ${unit}`).stdout;
  if (/^(WantedBy|RequiredBy|UpheldBy)=/m.test(text)) return '';
  return [...text.matchAll(/^Also=(.*)/gm)].map(([, names = '']) => names.trim()).join(' ');
}

function changeOf(unit: string, state: UnitState, isOld: boolean): Change {
  if (state.load === 'masked') {
    return new Failure(`${unit} is masked: it is not allowed to start`, {
      hint: `find out why; then systemctl unmask ${unit}`,
    });
  }
  const enable = !isEnabled(state);
  return isActive(state) && !isOld && enable
    ? [command`systemctl enable ${unit}`]
    : [startUnit(unit, state, enable)];
}

/**
 * Starts a unit, or restarts one that is active. A failure shows the end of its journal. Whether
 * it stays up is seen by the check that follows.
 *
 * @param enable also makes systemd read its files again, as `daemon-reload` does: a new file in
 * the folder of a unit is otherwise not seen
 */
export function startUnit(unit: string, state: UnitState, enable: boolean): Step {
  const verb = isActive(state) ? 'restart' : 'start';
  const failure = { what: `${unit} did not ${verb}`, hint: `see systemctl status ${unit}` };
  // What systemd keeps in memory it reports as it was, until it reads again. After too many
  // failures no start works before reset-failed.
  return command({ failure })`
    systemctl --quiet ${enable ? ['enable', unit] : 'daemon-reload'} || exit
    systemctl reset-failed ${unit} 2>/dev/null
    if systemctl ${verb} ${unit}; then
      systemctl is-active --quiet ${unit} && exit
      echo "it is $(systemctl is-active ${unit}) ($(systemctl show --property SubState --value ${unit}))" >&2
    fi
    sh -c ${lastWords} last-words ${unit} 8 ${`--unit=${unit}`} >&2
    exit 1`;
}

function isEnabled({ enabled }: UnitState): boolean {
  return counted.includes(enabled);
}

function isActive({ active }: UnitState): boolean {
  return active === 'active' || active === 'reloading';
}
