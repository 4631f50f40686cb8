import { endingOf } from './ending.ts';
import { entriesOf, matrixOf } from './matrix.ts';
import { eventOf, type RecordedEvent } from './recorded-event.ts';
import { type Stretch, timelineOf } from './timeline.ts';

/** All content of the page. Times are milliseconds since 1970. */
export type ReportData = ReturnType<typeof reportData>;
export type ReportedHost = ReturnType<typeof hostOf>;

/** @param events of one record, which has the start of a run */
export function reportData(events: readonly RecordedEvent[]) {
  const started = eventOf(events, 'run-started');
  if (!started) throw new TypeError('these events have no start of a run');
  // A host may occur in events alone.
  const names = [...new Set([...started.hosts, ...events.flatMap((event) => ('host' in event ? event.host : []))])];
  const rows = matrixOf(events);
  const timelines = timelineOf(events, names);
  return {
    started,
    /** The last event if no end is recorded. */
    end: Math.max(started.time, events.at(-1)?.time ?? 0),
    ending: endingOf(events),
    /** An error of the run itself and not of a host. */
    error: eventOf(events, 'run-failed')?.error,
    skipped: events.filter((event) => event.type === 'play-skipped'),
    /** By name, in the order of the run. */
    hosts: new Map(names.map((name, at) => [name, hostOf(name, `h${at}`, events, timelines.get(name) ?? [])])),
    rows,
    /** The entry of each cell that has one, in the order of the rows. */
    entries: entriesOf(rows, names),
  };
}

function hostOf(name: string, id: string, events: readonly RecordedEvent[], timeline: readonly Stretch[]) {
  return {
    name,
    /** Its anchor in the page. */
    id,
    /** undefined where no end is recorded */
    summary: eventOf(events, 'run-finished')?.hosts.find(({ host }) => host === name),
    unreachable: eventOf(events, 'host-unreachable', name) !== undefined,
    /** Why it stopped, how many tasks are left there, and the first of them. */
    stopped: eventOf(events, 'host-stopped', name),
    timeline,
  };
}
