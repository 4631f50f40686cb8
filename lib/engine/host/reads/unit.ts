import type { UnitState } from '../host.ts';
import { lastWordsFunction } from '../last-words.ts';
import { readScript, withArguments } from '../script.ts';
import type { VectorRead } from './batch.ts';

const script = `${lastWordsFunction}${readScript(new URL('unit.sh', import.meta.url))}`;
const [, properties] = /^properties=(.*)$/m.exec(script) ?? [];

/**
 * One `systemctl show` over all units. A name without a suffix is a service. Without systemd no
 * unit is found.
 */
export const unitRead: VectorRead<string, UnitState> = {
  name: 'unit',
  id: unitName,
  command: (names) => withArguments(script, names.map(unitName)),
  repeat: (names) =>
    withArguments(`TZ=UTC0 systemctl show -p InvocationID,${properties} -- "$@"`, names.map(unitName)),
  answers(output) {
    const states = new Map<string, UnitState>();
    for (const record of output.stdout.split(/\n\n+/)) {
      const values = new Map(
        record.split('\n').map((line) => {
          const at = line.indexOf('=');
          return [line.slice(0, at), line.slice(at + 1)];
        }),
      );
      const names = `${values.get('Id') ?? ''} ${values.get('Names') ?? ''}`.split(' ').filter(Boolean);
      for (const name of names) states.set(name, stateOf(values));
    }
    return states;
  },
  absent: () => stateOf(new Map()),
};

function stateOf(values: ReadonlyMap<string, string>): UnitState {
  const journal = values.get('Journal');
  return {
    load: values.get('LoadState') || 'not-found',
    active: values.get('ActiveState') || 'inactive',
    sub: values.get('SubState') || 'dead',
    enabled: values.get('UnitFileState') ?? '',
    activeSince: parseTime(values.get('ActiveEnterTimestamp') ?? ''),
    needsReload: values.get('NeedDaemonReload') === 'yes',
    ...(journal !== undefined && { lastWords: journal.replaceAll('\r', '\n').trim() }),
  };
}

/** `Fri 2025-11-21 08:36:01.123456 UTC` as seconds since 1970; 0 for an empty one. */
function parseTime(text: string): number {
  const [, day, time, fraction = ''] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?/.exec(text) ?? [];
  return day === undefined ? 0 : Date.parse(`${day}T${time}Z`) / 1000 + Number(`0${fraction}`);
}

function unitName(name: string): string {
  // A template has no state, and a query for one would end the answer for all units after it.
  if (!/^[\w:.\\@-]{1,200}$/.test(name) || /@(\.|$)/.test(name))
    throw new TypeError(`not a name of a unit: ${name}`);
  return /\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$/.test(name)
    ? name
    : `${name}.service`;
}
