import { readBounded } from '../../engine/file/bounded-file.ts';
import { largestRecord, recordsIn } from '../../engine/report/record.ts';
import { safeName } from '../../engine/report/record-name.ts';
import { eventOf, parseEvent, type Recorded } from '../../engine/report/recorded-event.ts';

/** The end of the last run that could change a host. */
export interface LastRun {
  readonly playbook: string;
  /** When it ended, ISO 8601, UTC. */
  readonly time: string;
  readonly ended: 'converged' | 'skipped' | 'stopped' | 'failed' | 'unreachable' | 'interrupted';
  /** Resources that it changed. */
  readonly changed: number;
}

/** Records that are read; a host in none of them has no last run. */
const mostRead = 20;

/**
 * The newest finished run of an inventory for each host that it worked on, from run records
 * (docs/events.md). Runs in check mode are left out, as they change nothing, and so are records
 * that cannot be read.
 *
 * @param folder of the records, TIME-INVENTORY.ndjson; those of check mode end in .check.ndjson
 * @returns by the host's name
 */
export async function lastRuns(folder: string, inventory: string): Promise<ReadonlyMap<string, LastRun>> {
  const newestFirst = orElse([], () => recordsIn(folder)).filter(
    (record) => record.inventory === safeName(inventory) && !record.check,
  );
  const runs = newestFirst.slice(0, mostRead).flatMap(({ path }) => runsIn(path, inventory));
  return new Map(runs.toReversed());
}

function runsIn(path: string, inventory: string): (readonly [string, LastRun])[] {
  const lines = orElse('', () => readBounded(path, largestRecord).toString('utf8')).split('\n');
  // The many events between are not parsed.
  const events = lines
    .filter((line) => /"type":"run-(started|finished)"/.test(line))
    .flatMap((line) => orElse(undefined, () => parseEvent(line)) ?? []);
  const started = eventOf(events, 'run-started');
  const finished = eventOf(events, 'run-finished');
  if (started?.inventory !== inventory || started.check || !finished) return [];
  const time = new Date(finished.time).toISOString();
  return finished.hosts.map((summary) => {
    const ended = howItEnded(finished, summary);
    return [
      summary.host,
      { playbook: started.playbook, time, ended, changed: summary.counts.changed ?? 0 },
    ] as const;
  });
}

function howItEnded(
  { interrupted, declined }: Recorded<'run-finished'>,
  { unreachable, stopped, counts: { failed = 0, skipped = 0 } }: Recorded<'run-finished'>['hosts'][number],
): LastRun['ended'] {
  if (unreachable) return 'unreachable';
  if (interrupted) return 'interrupted';
  if (failed > 0) return 'failed';
  if (declined) return 'stopped';
  if (stopped !== undefined) return 'failed';
  return skipped > 0 ? 'skipped' : 'converged';
}

function orElse<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
