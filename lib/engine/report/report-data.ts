import { type Ending, endingOf } from './ending.ts';
import { type Cell, type Entry, entriesOf, matrixOf, type Row, withoutPrefix } from './matrix.ts';
import { eventOf, type Recorded, type RecordedEvent } from './recorded-event.ts';
import { type Stretch, timelineOf } from './timeline.ts';

/** All that the page shows. Times are milliseconds since 1970. */
export interface ReportData {
  readonly playbook: string;
  readonly inventory: string;
  readonly check: boolean;
  readonly start: number;
  /** The last event where no end is recorded. */
  readonly end: number;
  readonly ending: Ending;
  /** An error of the run itself and not of a host. */
  readonly error: string | undefined;
  readonly skipped: readonly Recorded<'play-skipped'>[];
  /** By name, in the order of the run. */
  readonly hosts: ReadonlyMap<string, ReportedHost>;
  readonly rows: readonly Row[];
  /** The entry of each cell that has one, in the order of the rows. */
  readonly entries: ReadonlyMap<Cell, Entry>;
}

export interface ReportedHost {
  readonly name: string;
  /** Its anchor in the page. */
  readonly id: string;
  readonly counts: Readonly<Record<string, number>>;
  /** Seconds and round trips are undefined where no end is recorded. */
  readonly seconds: number | undefined;
  readonly roundTrips: number | undefined;
  /** Why it could not be reached. */
  readonly unreachable: string | undefined;
  /** Why it stopped, how many tasks are left there, and the first of them. */
  readonly stopped: Pick<Recorded<'host-stopped'>, 'why' | 'left' | 'next'> | undefined;
  readonly timeline: readonly Stretch[];
}

/** @param events of one record, which has the start of a run */
export function reportData(events: readonly RecordedEvent[]): ReportData {
  const started = eventOf(events, 'run-started');
  if (!started) throw new TypeError('these events have no start of a run');
  // A host may occur in events alone.
  const names = [...new Set([...started.hosts, ...events.flatMap((event) => ('host' in event ? event.host : []))])];
  const rows = matrixOf(events);
  const timelines = timelineOf(events, names);
  return {
    playbook: started.playbook,
    inventory: started.inventory,
    check: started.check,
    start: started.time,
    end: Math.max(started.time, events.at(-1)?.time ?? 0),
    ending: endingOf(events),
    error: eventOf(events, 'run-failed')?.error,
    skipped: events.filter((event) => event.type === 'play-skipped'),
    hosts: new Map(
      names.map((name, at): [string, ReportedHost] => {
        const summary = eventOf(events, 'run-finished')?.hosts.find(({ host }) => host === name);
        const host = {
          name,
          id: `h${at}`,
          counts: summary?.counts ?? counted(name, rows),
          seconds: summary?.seconds,
          roundTrips: summary?.roundTrips,
          unreachable: withoutPrefix(eventOf(events, 'host-unreachable', name)?.error, `${name}: `),
          stopped: eventOf(events, 'host-stopped', name),
          timeline: timelines.get(name) ?? [],
        };
        return [name, host];
      }),
    ),
    rows,
    entries: entriesOf(rows, names),
  };
}

function counted(host: string, rows: readonly Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { cells } of rows) {
    const { outcome } = cells.get(host) ?? {};
    if (outcome) counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}
