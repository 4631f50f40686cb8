import { type Ending, endingOf, eventOf } from './ending.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import type { Recorded, RecordedEvent } from './recorded-event.ts';
import { TextTable } from './text-table.ts';
import { type Stretch, timelineOf } from './timeline.ts';

/** All that the page shows; it stands in the page as JSON. Times are milliseconds since the start, but for `run.start`. */
export interface ReportData extends Matrix {
  readonly run: {
    readonly playbook: string;
    readonly inventory: string;
    readonly check: boolean;
    /** Milliseconds since 1970. */
    readonly start: number;
    /** Until the last event where no end is recorded. */
    readonly length: number;
    readonly ending: Ending;
    /** What ended the whole run, where that is no host's. */
    readonly error: string | undefined;
    /** Skipped plays, and why. */
    readonly skipped: readonly { readonly play: string; readonly why: string }[];
  };
  readonly hosts: readonly ReportedHost[];
  /** Places in this list stand for texts. */
  readonly texts: readonly string[];
}

export interface ReportedHost {
  readonly name: string;
  /** By outcome. */
  readonly counts: Readonly<Record<string, number>>;
  /** undefined where no end is recorded. */
  readonly seconds: number | undefined;
  readonly roundTrips: number | undefined;
  /** Why it could not be reached. */
  readonly unreachable: string | undefined;
  readonly stopped: string | undefined;
  /** Where it stopped: tasks that are not done, and the first of them. */
  readonly left: number | undefined;
  readonly next: string | undefined;
  readonly timeline: readonly Stretch[];
}

/** What a report shows of these events. */
export function reportData(events: readonly RecordedEvent[]): ReportData {
  const started = eventOf(events, 'run-started');
  const start = started?.time ?? events[0]?.time ?? 0;
  const names = hostNames(started?.hosts ?? [], events);
  const texts = new TextTable();
  const timelines = timelineOf(events, names);
  const { rows, outcomes, details, differences } = matrixOf(events, names, start, texts);
  const finished = eventOf(events, 'run-finished');
  return {
    run: {
      playbook: started?.playbook ?? '',
      inventory: started?.inventory ?? '',
      check: started?.check ?? false,
      start,
      length: (events.at(-1)?.time ?? start) - start,
      ending: endingOf(events),
      error: eventOf(events, 'run-failed')?.error,
      skipped: events.flatMap((event) => (event.type === 'play-skipped' ? [{ play: event.play, why: event.why }] : [])),
    },
    hosts: names.map((name) => reportedHost(name, events, finished, timelines.get(name) ?? [])),
    rows,
    outcomes,
    details,
    differences,
    texts: texts.texts,
  };
}

/** The run's hosts in its order, and any that is only spoken of. */
function hostNames(said: readonly string[], events: readonly RecordedEvent[]): string[] {
  return [...new Set([...said, ...events.flatMap((event) => ('host' in event ? event.host : []))])];
}

function reportedHost(
  name: string,
  events: readonly RecordedEvent[],
  finished: Recorded<'run-finished'> | undefined,
  timeline: readonly Stretch[],
): ReportedHost {
  const summary = finished?.hosts.find(({ host }) => host === name);
  const unreachable = events.find(
    (event): event is Recorded<'host-unreachable'> => event.type === 'host-unreachable' && event.host === name,
  )?.error;
  const stopped = events.find(
    (event): event is Recorded<'host-stopped'> => event.type === 'host-stopped' && event.host === name,
  );
  return {
    name,
    counts: summary?.counts ?? counted(name, events),
    seconds: summary?.seconds,
    roundTrips: summary?.roundTrips,
    unreachable: unreachable?.startsWith(`${name}: `) ? unreachable.slice(name.length + 2) : unreachable,
    stopped: stopped?.why,
    left: stopped?.left,
    next: stopped?.next,
    timeline,
  };
}

function counted(name: string, events: readonly RecordedEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const event of events) {
    if (event.type !== 'resource-done' || event.host !== name) continue;
    counts[event.outcome] = (counts[event.outcome] ?? 0) + 1;
  }
  return counts;
}
