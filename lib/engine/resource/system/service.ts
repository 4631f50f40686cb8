import { type Action, command } from '../../host/action.ts';
import type { UnitState } from '../../host/host.ts';
import { Failure } from '../../problem/problem.ts';
import { type Change, driftOf, fileChange, type Resource, unitChange, unknownUntil } from '../resource.ts';

/** States that need no `enable`: `static` has nothing to enable, the others are enabled by another name or a generator. */
const counted = ['enabled', 'static', 'alias', 'generated'];

/**
 * A systemd unit that is enabled, running, and started after the last change of the files that it reads. Both times are read from
 * the host, so that the next run completes an interrupted one.
 *
 * @param name without a suffix it is a service
 * @param reads files: the unit is restarted when one of them is newer than its start
 * @example service('chrony', ['/etc/chrony/chrony.conf'])
 */
export function service(name: string, reads: readonly string[] = []): Resource {
  const unit = /\.(service|timer|socket|mount|path|target|slice|scope)$/.test(name) ? name : `${name}.service`;
  return {
    name: `${unit} is enabled and running`,
    changes: () => [unitChange(unit)],
    follows: reads.map((path) => ({ what: fileChange(path), effect: 'is restarted', certain: true })),

    async check(host) {
      const [state, ...stats] = await Promise.all([host.unit(unit), ...reads.map((path) => host.stat(path))]);
      const newer = reads.filter((_, at) => (stats[at]?.modified ?? 0) > state.activeSince);
      if (state.load === 'not-found') return unknownUntil(`${unit} is installed`);
      const differences = [
        ...(isEnabled(state) ? [] : [{ what: 'at boot', was: state.enabled || state.load, wanted: 'enabled' }]),
        ...(isActive(state) ? [] : [{ what: 'state', was: `${state.active} (${state.sub})`, wanted: 'active' }]),
        ...(isActive(state) ? newer : []).map((path) => ({
          what: 'started',
          was: `before ${path} changed`,
          wanted: 'after it',
        })),
      ];
      return driftOf(differences, changeOf(unit, state, newer.length > 0));
    },
  };
}

function changeOf(unit: string, state: UnitState, isOld: boolean): Change {
  if (state.load === 'masked') {
    return new Failure(`${unit} is masked: it is not allowed to start`, {
      hint: `find out why; then systemctl unmask ${unit}`,
    });
  }
  const enable = !isEnabled(state);
  return isActive(state) && !isOld && enable ? [command`systemctl enable ${unit}`] : [startUnit(unit, state, enable)];
}

/**
 * Starts a unit, or restarts one that is active, and checks that it stays up: one that does not notify systemd may end a second
 * later, as with a wrong configuration. A failure shows the end of its journal.
 *
 * @param enable also makes systemd read its files again, as `daemon-reload` does
 */
export function startUnit(unit: string, state: UnitState, enable: boolean): Action {
  const verb = isActive(state) ? 'restart' : 'start';
  // A unit that failed too often does not start before reset-failed.
  return command({ failure: { what: `${unit} did not ${verb}`, hint: `see systemctl status ${unit}` } })`
    systemctl ${enable ? ['--quiet', 'enable', unit] : ['daemon-reload']} || exit
    systemctl reset-failed ${unit} 2>/dev/null
    if systemctl ${verb} ${unit}; then
      case $(systemctl show --property Type ${unit}) in Type=simple | Type=exec | Type=idle) sleep 1 ;; esac
      systemctl is-active --quiet ${unit} && exit
      echo "it is $(systemctl is-active ${unit}) ($(systemctl show --property SubState --value ${unit}))" >&2
    fi
    journalctl --no-pager --quiet -o cat -n 8 -u ${unit} >&2
    exit 1`;
}

function isEnabled({ enabled }: UnitState): boolean {
  return counted.includes(enabled);
}

function isActive({ active }: UnitState): boolean {
  return active === 'active' || active === 'reloading';
}
