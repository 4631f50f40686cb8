import type { Reader, UnitState, Writer } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { fileChange, unitChange } from '../change.ts';
import { driftOf, type Resource, unknownUntil } from '../resource.ts';

/** States that need no `enable`: `static` has nothing to enable, the others are enabled by another name or a generator. */
const counted = ['enabled', 'static', 'alias', 'generated'];

/** Our own exit code for a unit that does not start, or does not stay up. */
const notUp = 90;

/**
 * A systemd unit that is enabled, running, and started after the last change of the files that it reads. Both times are read from
 * the host, so that the next run completes an interrupted one.
 *
 * @param name without a suffix it is a service
 * @param reads files: the unit is restarted when one of them is newer than its start
 */
export function service(name: string, reads: readonly string[] = []): Resource {
  const unit = /\.(service|timer|socket|mount|path|target|slice|scope)$/.test(name) ? name : `${name}.service`;
  let last: { host: string; state: UnitState; newer: readonly string[] } | undefined;
  const read = async (host: Reader) => {
    const [state, ...stats] = await Promise.all([host.unit(unit), ...reads.map((path) => host.stat(path))]);
    const newer = reads.filter((_, at) => (stats[at]?.modified ?? 0) > state.activeSince);
    last = { host: host.name, state, newer };
    return last;
  };

  return {
    name: `${unit} is enabled and running`,
    changes: () => [unitChange(unit)],
    follows: reads.map((path) => ({ what: fileChange(path), effect: 'is restarted', certain: true })),

    async check(host) {
      const { state, newer } = await read(host);
      if (state.load === 'not-found') return unknownUntil(`${unit} is installed`);
      return driftOf([
        ...(isEnabled(state) ? [] : [{ what: 'at boot', was: state.enabled || state.load, wanted: 'enabled' }]),
        ...(isActive(state) ? [] : [{ what: 'state', was: `${state.active} (${state.sub})`, wanted: 'active' }]),
        ...(isActive(state) ? newer : []).map((path) => ({
          what: 'started',
          was: `before ${path} changed`,
          wanted: 'after it',
        })),
      ]);
    },

    async apply(host) {
      const { state, newer } = last?.host === host.name ? last : await read(host);
      if (state.load === 'masked') {
        throw new Problem(`${unit} is masked: it is not allowed to start`, {
          hint: `find out why; then systemctl unmask ${unit}`,
          code: exitCode.failed,
        });
      }
      const enable = !isEnabled(state);
      if (!isActive(state)) await start(host, 'start', unit, enable);
      else if (newer.length > 0) await start(host, 'restart', unit, enable);
      else if (enable) await host.run`systemctl enable ${unit}`;
    },
  };
}

/**
 * Starts or restarts a unit and checks that it stays up: one that does not notify systemd may end a second later, as with a wrong
 * configuration. `enable` makes systemd read its files again, as `daemon-reload` does.
 *
 * @throws Problem with the end of its journal
 */
async function start(host: Writer, verb: 'start' | 'restart', unit: string, enable: boolean): Promise<void> {
  // A unit that failed too often does not start before reset-failed.
  const started = await host.run({ allow: [0, notUp] })`
    systemctl ${enable ? ['--quiet', 'enable', unit] : ['daemon-reload']} || exit
    systemctl reset-failed ${unit} 2>/dev/null
    systemctl ${verb} ${unit} || exit ${notUp}
    case $(systemctl show --property Type ${unit}) in Type=simple | Type=exec | Type=idle) sleep 1 ;; esac
    systemctl is-active --quiet ${unit} || exit ${notUp}`;
  if (started.ok) return;
  const [state, journal] = await Promise.all([
    host.unit(unit),
    host.$`journalctl --no-pager --quiet -o cat -n 8 -u ${unit}`,
  ]);
  const cause = started.stderr.trim() || `it is ${state.active} (${state.sub})`;
  throw new Problem(`${unit} did not ${verb}: ${cause}\n${journal.text()}`.trim(), {
    hint: `see systemctl status ${unit}`,
    code: exitCode.failed,
  });
}

function isEnabled({ enabled }: UnitState): boolean {
  return counted.includes(enabled);
}

function isActive({ active }: UnitState): boolean {
  return active === 'active' || active === 'reloading';
}
