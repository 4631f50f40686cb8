import { type Difference, describeUnmet, type EveryHost } from '../resource/resource.ts';
import type { Outcome, Step } from './events.ts';
import type { FleetVerdict } from './fleet.ts';
import type { HostRun, Item } from './host-run.ts';

/** What a run would do about one resource. */
export interface Planned {
  readonly step: Step;
  readonly outcome: Exclude<Outcome, 'changed'>;
  readonly differences: readonly Difference[];
  readonly note: string | undefined;
  readonly error: unknown;
  /** What would be run on the host for it, as far as can be told. */
  readonly commands: readonly string[];
  /** Whether this is not seen yet, but follows from changes that are planned before it. */
  readonly predicted: boolean;
}

/** What a run would do on one host, in order. */
export interface HostPlan {
  readonly host: string;
  readonly tasks: readonly Planned[];
}

/** Whether anything would be changed. What cannot be told yet would be, for it waits for a change. */
export function changesSomething({ tasks }: HostPlan): boolean {
  return tasks.some(({ outcome }) => outcome === 'pending' || outcome === 'unknown');
}

/**
 * What a run would do on a host, out of what looking at it showed, in order. A change is followed to what depends on it: what has to
 * be done again for certain is pending, what may be is unknown. What is to be changed and depends on every host is judged by that.
 *
 * @param everyHost looks at all hosts of the inventory
 */
export async function planOf(
  host: HostRun,
  everyHost: (condition: EveryHost) => Promise<FleetVerdict>,
): Promise<Planned[]> {
  /** What becomes different, and whether for certain. */
  const moved = new Map<string, boolean>();
  const planned = host.items.map((item) => {
    const seen = plannedOf(item);
    const followed = seen.outcome === 'ok' ? (following(item, moved) ?? seen) : seen;
    if (followed.outcome === 'pending' || followed.outcome === 'unknown') {
      for (const what of item.resource.changes?.(followed.differences) ?? [])
        moved.set(what, moved.get(what) || followed.outcome === 'pending');
    }
    return followed;
  });
  return Promise.all(
    planned.map(async (each, at) => {
      const item = host.items[at];
      if (!item || (each.outcome !== 'pending' && each.outcome !== 'unknown')) return each;
      const condition = item.resource.everyHost;
      const judged = condition ? judgedBy(await everyHost(condition), each) : each;
      if (judged.outcome !== 'pending' || judged.predicted) return judged;
      return { ...judged, commands: await host.preview(item.resource) };
    }),
  );
}

function judgedBy({ refused, until, note }: FleetVerdict, planned: Planned): Planned {
  if (refused) return { ...planned, outcome: 'failed', note: undefined, error: refused };
  if (until !== undefined && planned.outcome === 'pending')
    return { ...planned, outcome: 'unknown', note: `until ${until}` };
  return { ...planned, note: [planned.note, note].filter((part) => part !== undefined).join('; ') || undefined };
}

function plannedOf({ step, resource, seen }: Item): Planned {
  const nothing = { step, differences: [], note: undefined, error: undefined, commands: [], predicted: false };
  if (!seen || seen.is === 'error') return { ...nothing, outcome: 'failed', error: seen?.error };
  if (seen.is === 'ok') return { ...nothing, outcome: 'ok' };
  if (seen.is === 'unknown') return { ...nothing, outcome: 'unknown', note: `until ${seen.until}` };
  if (resource.expects === 'should') return { ...nothing, outcome: 'warning', note: describeUnmet(resource, seen) };
  if (resource.expects === 'must') return { ...nothing, outcome: 'failed', note: describeUnmet(resource, seen) };
  return { ...nothing, outcome: 'pending', differences: seen.differences, note: seen.note };
}

/** The first certain change that it follows, or else the first one. */
function following({ step, resource }: Item, moved: ReadonlyMap<string, boolean>): Planned | undefined {
  const met = (resource.follows ?? []).filter(({ what }) => moved.has(what));
  const certain = met.find((each) => each.certain && moved.get(each.what));
  const first = certain ?? met[0];
  if (!first) return undefined;
  // What is only looked at is no change, however certain the look is.
  const outcome = certain && !resource.expects ? 'pending' : 'unknown';
  const because = `${first.effect} after ${first.what}${certain ? '' : ', maybe'}`;
  return { step, outcome, differences: [], note: because, error: undefined, commands: [], predicted: true };
}
