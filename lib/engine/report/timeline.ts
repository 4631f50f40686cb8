import type { Recorded, RecordedEvent } from './recorded-event.ts';

/**
 * A stretch of one host's time, in milliseconds since the start. `label` is the play, or what the host waited for, or why it
 * stopped.
 */
export interface Stretch {
  readonly kind: 'connect' | 'look' | 'play' | 'wait' | 'unreachable' | 'stopped';
  readonly from: number;
  readonly to: number;
  readonly label: string;
}

/** A play while hosts were at it; `ends` says when each was done. */
interface Going {
  readonly what: string;
  readonly from: number;
  readonly ends: ReadonlyMap<string, number>;
}

/** Waiting shorter than this is not worth a label. Milliseconds, and as a share of the whole. */
const notable = { least: 500, share: 0.004 };

/** What each host did when: connecting, looking, its plays, and between them whom it waited for. */
export function timelineOf(
  events: readonly RecordedEvent[],
  hosts: readonly string[],
): ReadonlyMap<string, readonly Stretch[]> {
  const start = events[0]?.time ?? 0;
  const end = events.at(-1)?.time ?? start;
  const plays = playsOf(events, end);
  const firstPlay = plays[0]?.from ?? end;
  const looks = new Map(
    hosts.flatMap((host) => {
      const stretch = lookOf(host, events, plays, firstPlay);
      return stretch ? [[host, stretch] as const] : [];
    }),
  );
  const looking: Going = {
    what: 'looking',
    from: start,
    ends: new Map([...looks].map(([host, { to }]) => [host, to])),
  };
  const goings = [looking, ...plays];
  const worthTelling = Math.max(notable.least, (end - start) * notable.share);

  return new Map(
    hosts.map((host) => {
      const stretches: Stretch[] = [...connectionSettingsOf(host, events, start)];
      const look = looks.get(host);
      if (look) stretches.push(look);
      let free = look?.to ?? start;
      for (const { from, to, label } of ownPlays(host, plays)) {
        stretches.push(...waits(host, free, from, goings, worthTelling));
        stretches.push({ kind: 'play', from, to, label });
        free = to;
      }
      const stopped = events.find(
        (event): event is Recorded<'host-stopped'> => event.type === 'host-stopped' && event.host === host,
      );
      if (stopped) {
        if (stopped.time > free) stretches.push(...waits(host, free, stopped.time, goings, worthTelling));
        stretches.push({ kind: 'stopped', from: stopped.time, to: stopped.time, label: stopped.why });
      }
      const moved = stretches.map((stretch) => ({ ...stretch, from: stretch.from - start, to: stretch.to - start }));
      return [host, moved];
    }),
  );
}

/** Each play, with when each of its hosts told its last word in it; a host that is cut off in the middle is at it until the end. */
function playsOf(events: readonly RecordedEvent[], end: number): Going[] {
  return events.flatMap((started): Going[] => {
    if (started.type !== 'play-started') return [];
    const ends = new Map(started.hosts.map((host) => [host, started.time]));
    const busy = new Set<string>();
    for (const event of events) {
      if (!('play' in event) || !('host' in event) || event.play !== started.play || !ends.has(event.host)) continue;
      ends.set(event.host, event.time);
      if (event.type === 'resource-started') busy.add(event.host);
      else if (event.type !== 'progress') busy.delete(event.host);
    }
    for (const host of busy) ends.set(host, end);
    return [{ what: started.play, from: started.time, ends }];
  });
}

function ownPlays(host: string, plays: readonly Going[]): { from: number; to: number; label: string }[] {
  return plays.flatMap(({ what, from, ends }) => {
    const to = ends.get(host);
    return to === undefined ? [] : [{ from, to, label: what }];
  });
}

function connectionSettingsOf(host: string, events: readonly RecordedEvent[], start: number): Stretch[] {
  for (const event of events) {
    if (event.type === 'host-connected' && event.host === host) {
      const from = Math.max(start, event.time - event.seconds * 1000);
      return [{ kind: 'connect', from, to: event.time, label: 'connecting' }];
    }
    if (event.type === 'host-unreachable' && event.host === host) {
      return [{ kind: 'unreachable', from: start, to: event.time, label: 'unreachable' }];
    }
  }
  return [];
}

/** Without the event that tells its end, it is what is left of the host's own time, or in check mode all of it. */
function lookOf(
  host: string,
  events: readonly RecordedEvent[],
  plays: readonly Going[],
  firstPlay: number,
): Stretch | undefined {
  const connected = events.find((event) => event.type === 'host-connected' && event.host === host);
  if (!connected) return undefined;
  const looked = events.find((event) => event.type === 'host-looked' && event.host === host);
  if (looked) return { kind: 'look', from: connected.time, to: looked.time, label: 'looking at everything' };
  const finished = events.find((event) => event.type === 'run-finished');
  const summary = finished?.hosts.find((each) => each.host === host);
  const atPlays = ownPlays(host, plays).reduce((sum, { from, to }) => sum + (to - from), 0);
  const took = summary ? Math.max(0, summary.seconds * 1000 - atPlays) : firstPlay - connected.time;
  const to = Math.min(connected.time + took, Math.max(firstPlay, connected.time));
  return { kind: 'look', from: connected.time, to, label: 'looking at everything' };
}

/** The stretches between two times in which others were busy, with who kept this host waiting longest in each. */
function waits(host: string, from: number, to: number, goings: readonly Going[], worthTelling: number): Stretch[] {
  return goings.flatMap((going): Stretch[] => {
    const others = [...going.ends].filter(([other]) => other !== host).sort(([, a], [, b]) => b - a);
    const [slowest] = others;
    if (!slowest) return [];
    const [blocker, done] = slowest;
    const stretch = { from: Math.max(from, going.from), to: Math.min(to, done) };
    if (stretch.to - stretch.from < worthTelling) return [];
    return [{ kind: 'wait', ...stretch, label: `waits for ${blocker} (${going.what})` }];
  });
}
