import { readRecord, recordsIn } from '../../engine/report/record.ts';
import { safeName, startOf } from '../../engine/report/record-name.ts';
import { eventOf } from '../../engine/report/recorded-event.ts';

/** A run in check mode that this project folder has a record of, by the schedule or by hand. */
export interface PastCheck {
  /** When it started, as 2024-11-21T16:42:35.000Z. */
  readonly time: string;
  /** What each host showed. */
  readonly hosts: readonly { readonly host: string; readonly found: string }[];
  /** Why it has no result. */
  readonly why?: string;
}

/** The newest checks of an inventory, from the folder of the run records. */
export function checksIn(folder: string, inventory: string, last: number): readonly PastCheck[] {
  const name = safeName(inventory);
  return recordsIn(folder)
    .filter((record) => record.check && record.inventory === name)
    .slice(0, last)
    .map(({ path, time }) => {
      const started = startOf(time);
      try {
        const end = eventOf(readRecord(path), 'run-finished');
        const hosts = (end?.hosts ?? []).map(({ host, ...row }) => ({ host, found: foundOf(row) }));
        return { time: started, hosts, ...(!end && { why: 'it did not end' }) };
      } catch {
        return { time: started, hosts: [], why: 'its record is damaged' };
      }
    });
}

function foundOf({
  counts,
  unreachable,
}: {
  counts: Readonly<Record<string, number>>;
  unreachable: boolean;
}): string {
  if (unreachable) return 'unreachable';
  const found = ['pending', 'unknown', 'failed'].flatMap((outcome) =>
    counts[outcome] ? [`${counts[outcome]} ${outcome}`] : [],
  );
  return found.join(', ') || 'no drift';
}
