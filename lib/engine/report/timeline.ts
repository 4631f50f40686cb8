import { eventOf, type RecordedEvent } from './recorded-event.ts';

/**
 * One activity of a host. Times are milliseconds since 1970; `label` is the play, or why it waited
 * or stopped.
 */
export interface Stretch {
  readonly kind: 'connect' | 'look' | 'play' | 'wait' | 'unreachable' | 'stopped';
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

/** A play, or the first check of all tasks, with the time at which each host ended it. */
interface Phase {
  readonly name: string;
  readonly from: number;
  readonly ends: ReadonlyMap<string, number>;
}

/** A shorter wait is not shown. Milliseconds, and as a share of the whole run. */
const shortest = { wait: 500, share: 0.004 };

/**
 * The activities of each host: connecting, checking, its plays, and between them the host that it
 * waited for.
 */
export function timelineOf(
  events: readonly RecordedEvent[],
  hosts: readonly string[],
): ReadonlyMap<string, readonly Stretch[]> {
  const start = events[0]?.time ?? 0;
  const end = events.at(-1)?.time ?? start;
  const plays = playsOf(events, end);
  const checking: Phase = {
    name: 'checking all tasks',
    from: start,
    ends: checkEnds(events, hosts, plays[0]?.from ?? end),
  };
  const waits = waitsIn([checking, ...plays], Math.max(shortest.wait, (end - start) * shortest.share));

  return new Map(
    hosts.map((host) => {
      let free = checking.ends.get(host) ?? start;
      const stretches = connectingOf(host, events, start, free);
      for (const { name, from, ends } of plays) {
        const to = ends.get(host);
        if (to === undefined) continue;
        stretches.push(...waits(host, free, from), { kind: 'play', from, to, label: name });
        free = to;
      }
      const stopped = eventOf(events, 'host-stopped', host);
      if (stopped) {
        const { time, why } = stopped;
        stretches.push(...waits(host, free, time), { kind: 'stopped', from: time, to: time, label: why });
      }
      return [host, stretches];
    }),
  );
}

/**
 * When each connected host had checked its tasks.
 *
 * @param fallback where that is not recorded
 */
function checkEnds(events: readonly RecordedEvent[], hosts: readonly string[], fallback: number) {
  const connected = hosts.filter((host) => eventOf(events, 'host-connected', host));
  return new Map(connected.map((host) => [host, eventOf(events, 'host-looked', host)?.time ?? fallback]));
}

/**
 * A host ends a play with its last event in it, or with the run if it was interrupted in the
 * middle of a task.
 */
function playsOf(events: readonly RecordedEvent[], end: number): Phase[] {
  return events.flatMap((started): Phase[] => {
    if (started.type !== 'play-started') return [];
    const ends = new Map(started.hosts.map((host) => [host, started.time]));
    const busy = new Set<string>();
    for (const event of events) {
      if (!('play' in event) || !('host' in event) || event.play !== started.play || !ends.has(event.host))
        continue;
      ends.set(event.host, event.time);
      if (event.type === 'resource-started') busy.add(event.host);
      else if (event.type !== 'progress') busy.delete(event.host);
    }
    for (const host of busy) ends.set(host, end);
    return [{ name: started.play, from: started.time, ends }];
  });
}

/**
 * @param checked when the host had checked its tasks
 */
function connectingOf(
  host: string,
  events: readonly RecordedEvent[],
  start: number,
  checked: number,
): Stretch[] {
  const connected = eventOf(events, 'host-connected', host);
  if (connected) {
    const { time, seconds } = connected;
    return [
      { kind: 'connect', from: Math.max(start, time - seconds * 1000), to: time, label: 'connecting' },
      { kind: 'look', from: time, to: checked, label: 'checking all tasks' },
    ];
  }
  const unreachable = eventOf(events, 'host-unreachable', host);
  return unreachable
    ? [{ kind: 'unreachable', from: start, to: unreachable.time, label: 'unreachable' }]
    : [];
}

/**
 * @returns the waits of a host between two times: in each phase, for the host that was busy
 * longest
 */
function waitsIn(
  phases: readonly Phase[],
  least: number,
): (host: string, from: number, to: number) => Stretch[] {
  return (host, from, to) =>
    phases.flatMap(({ name, from: began, ends }): Stretch[] => {
      const [slowest] = [...ends].filter(([other]) => other !== host).sort(([, a], [, b]) => b - a);
      if (!slowest) return [];
      const [blocker, done] = slowest;
      const stretch = { from: Math.max(from, began), to: Math.min(to, done) };
      if (stretch.to - stretch.from < least) return [];
      return [{ kind: 'wait', ...stretch, label: `waits for ${blocker} (${name})` }];
    });
}
