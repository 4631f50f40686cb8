import type { Reader, Stat, UnitState, Writer } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { fileChange, unitChange } from '../change.ts';
import { type Difference, driftOf, type Resource, unknownUntil } from '../resource.ts';

/** A systemd unit that has to be enabled, running, and started after what it reads last changed. */
export interface ServiceResource extends Resource {
  /** Starts at boot. */
  enabled(): ServiceResource;
  running(): ServiceResource;
  /**
   * Restarted when one of these files is newer than its start. That is read from the host, not remembered, so a restart that
   * an interrupted run still owed is made up for by the next one.
   */
  restartedAfter(...paths: readonly string[]): ServiceResource;
}

interface Seen {
  readonly state: UnitState;
  /** Files that changed after the unit was started. */
  readonly newer: readonly string[];
}

interface Wanted {
  readonly enabled: boolean;
  readonly running: boolean;
  readonly files: readonly string[];
}

/** systemd's words for what needs no `enable`: `static` has nothing to enable, the others are enabled by another name or a generator. */
const counted = ['enabled', 'static', 'alias', 'generated'];

/** Exit code of our own commands where a unit does not start, or does not stay up. */
const notUp = 90;

/** @param name a unit's name; without a suffix it is a service */
export function service(name: string): ServiceResource {
  return make(unitName(name), { enabled: false, running: false, files: [] });
}

function make(unit: string, wanted: Wanted): ServiceResource {
  let last: (Seen & { readonly host: string }) | undefined;
  const look = async (host: Reader): Promise<Seen> => {
    const [state, ...stats] = await Promise.all([host.unit(unit), ...wanted.files.map((path) => host.stat(path))]);
    last = { host: host.name, state, newer: newerFiles(wanted.files, stats, state) };
    return last;
  };

  return {
    name: title(unit, wanted),
    changes: () => [unitChange(unit)],
    follows: wanted.files.map((path) => ({ what: fileChange(path), effect: 'is restarted', certain: true })),
    enabled: () => make(unit, { ...wanted, enabled: true }),
    running: () => make(unit, { ...wanted, running: true }),
    restartedAfter: (...paths) => make(unit, { ...wanted, files: [...wanted.files, ...paths] }),

    async check(host) {
      const { state, newer } = await look(host);
      if (state.load === 'not-found') return unknownUntil(`${unit} is installed`);
      const differences = unitDifferences(state, newer, wanted);
      return driftOf(differences);
    },

    async apply(host) {
      const { state, newer } = last?.host === host.name ? last : await look(host);
      if (state.load === 'masked') {
        throw new Problem(`${unit} is masked: somebody has forbidden it to start`, {
          hint: `find out why; then systemctl unmask ${unit}`,
          code: exitCode.failed,
        });
      }
      const enable = wanted.enabled && !counted.includes(state.enabled);
      if (isActive(state) && newer.length > 0) await start(host, 'restart', unit, enable);
      else if (!isActive(state) && wanted.running) await start(host, 'start', unit, enable);
      else if (enable) await host.run`systemctl enable ${unit}`;
    },
  };
}

/**
 * Starts or restarts a unit, and stays to see that it lives: one that does not tell when it is up, and has no use for its
 * configuration, say, has ended a second later. To enable one makes systemd read its files again, too.
 *
 * @throws Problem with the end of its journal where it does not
 */
async function start(host: Writer, verb: 'start' | 'restart', unit: string, enable: boolean): Promise<void> {
  // A unit that failed too often refuses to start until that is forgotten.
  const begun = await host.run({ allow: [0, notUp] })`
    systemctl ${enable ? ['--quiet', 'enable', unit] : ['daemon-reload']} || exit
    systemctl reset-failed ${unit} 2>/dev/null
    systemctl ${verb} ${unit} || exit ${notUp}
    case $(systemctl show --property Type ${unit}) in Type=simple | Type=exec | Type=idle) sleep 1 ;; esac
    systemctl is-active --quiet ${unit} || exit ${notUp}`;
  if (begun.ok) return;
  const [state, journal] = await Promise.all([
    host.unit(unit),
    host.$`journalctl --no-pager --quiet -o cat -n 8 -u ${unit}`,
  ]);
  const cause = begun.stderr.trim() || `it is ${state.active} (${state.sub})`;
  throw new Problem(`${unit} did not ${verb}: ${cause}\n${journal.text()}`.trim(), {
    hint: `see systemctl status ${unit}`,
    code: exitCode.failed,
  });
}

function unitDifferences(state: UnitState, newer: readonly string[], wanted: Wanted): Difference[] {
  const differences: Difference[] = [];
  if (wanted.enabled && !counted.includes(state.enabled)) {
    differences.push({ what: 'at boot', was: state.enabled || state.load, wanted: 'enabled' });
  }
  if (wanted.running && !isActive(state)) {
    differences.push({ what: 'state', was: `${state.active} (${state.sub})`, wanted: 'active' });
  }
  if (isActive(state)) {
    for (const path of newer) differences.push({ what: 'started', was: `before ${path} changed`, wanted: 'after it' });
  }
  return differences;
}

function newerFiles(paths: readonly string[], stats: readonly (Stat | undefined)[], state: UnitState): string[] {
  return paths.filter((_, at) => (stats[at]?.modified ?? 0) > state.activeSince);
}

function isActive(state: UnitState): boolean {
  return state.active === 'active' || state.active === 'reloading';
}

function title(unit: string, { enabled, running }: Wanted): string {
  const states = [enabled ? 'enabled' : '', running ? 'running' : ''].filter((word) => word !== '');
  return states.length === 0 ? unit : `${unit} is ${states.join(' and ')}`;
}

function unitName(name: string): string {
  return /\.(service|timer|socket|mount|path|target|slice|scope)$/.test(name) ? name : `${name}.service`;
}
