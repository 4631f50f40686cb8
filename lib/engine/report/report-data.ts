import { type Ending, endingOf } from './ending.ts';
import { type Cell, type Entry, entriesOf, matrixOf, type Row } from './matrix.ts';
import { eventOf, type Recorded, type RecordedEvent } from './recorded-event.ts';
import { type Stretch, timelineOf } from './timeline.ts';

/** All content of the page. Times are milliseconds since 1970. */
export interface ReportData {
  readonly started: Recorded<'run-started'>;
  /** The last event if no end is recorded. */
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

/** A host of the page. */
export interface ReportedHost {
  readonly name: string;
  /** Its anchor in the page. */
  readonly id: string;
  /** undefined where no end is recorded. */
  readonly summary: Recorded<'run-finished'>['hosts'][number] | undefined;
  readonly unreachable: boolean;
  /** Why it stopped, how many tasks are left there, and the first of them. */
  readonly stopped: Recorded<'host-stopped'> | undefined;
  readonly timeline: readonly Stretch[];
}

/**
 * Makes the content of the page.
 *
 * @param events of one record, which has the start of a run
 * @throws TypeError for events without a start of a run
 */
export function reportData(events: readonly RecordedEvent[]): ReportData {
  const started = eventOf(events, 'run-started');
  if (!started) throw new TypeError('these events have no start of a run');
  // A host may occur in events alone.
  const names = [
    ...new Set([...started.hosts, ...events.flatMap((event) => ('host' in event ? event.host : []))]),
  ];
  const rows = matrixOf(events);
  const timelines = timelineOf(events, names);
  return {
    started,
    end: Math.max(started.time, events.at(-1)?.time ?? 0),
    ending: endingOf(events),
    error: eventOf(events, 'run-failed')?.error,
    skipped: events.filter((event) => event.type === 'play-skipped'),
    hosts: new Map(
      names.map((name, at) => [name, hostOf(name, `h${at}`, events, timelines.get(name) ?? [])]),
    ),
    rows,
    entries: entriesOf(rows, names),
  };
}

function hostOf(
  name: string,
  id: string,
  events: readonly RecordedEvent[],
  timeline: readonly Stretch[],
): ReportedHost {
  return {
    name,
    id,
    summary: eventOf(events, 'run-finished')?.hosts.find(({ host }) => host === name),
    unreachable: eventOf(events, 'host-unreachable', name) !== undefined,
    stopped: eventOf(events, 'host-stopped', name),
    timeline,
  };
}
