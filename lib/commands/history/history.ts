import type { Reader } from '../../engine/host/host.ts';
import { type JournalLine, journalFolder, parseJournal } from '../../engine/run/lock/journal.ts';
import { type Release, readReleases } from '../../node/release/manifest.ts';

/** Lines that are read of each journal: those of a thousand runs. */
const mostLines = 2000;

/** What a host knows of its past. */
export interface HostHistory {
  readonly host: string;
  /** The lines of its journal, in order. */
  readonly lines: readonly JournalLine[];
  /** The number of lines of its journal that cannot be read. */
  readonly bad: number;
  /** Newest first. */
  readonly releases: readonly Release[];
}

/** A run on one host. Without `end`, it was interrupted or killed there, or still runs. */
interface PartOfRun {
  readonly host: string;
  readonly end: (JournalLine & { at: 'end' }) | undefined;
  readonly plan: string;
}

/** A run that changed hosts, whoever started it. */
export interface PastRun extends Omit<JournalLine & { at: 'begin' }, 'at' | 'plan'> {
  readonly hosts: readonly PartOfRun[];
}

/**
 * Reads what a host knows of its past.
 *
 * @param host its name in the inventory
 */
export async function readHistory(host: string, reader: Reader): Promise<HostHistory> {
  const [journal, releases] = await Promise.all([
    reader.$`tail -n ${mostLines} ${`${journalFolder}/journal.jsonl`}`,
    readReleases(reader),
  ]);
  return { host, ...parseJournal(journal.stdout), releases };
}

/** The runs of all journals, newest first. */
export function mergeRuns(histories: readonly HostHistory[]): PastRun[] {
  const runs = new Map<string, PastRun>();
  for (const { host, lines } of histories) {
    for (const line of lines) {
      if (line.at !== 'begin') continue;
      const { at: _, plan, ...run } = line;
      const end = lines.find(
        (other): other is PartOfRun['end'] & object => other.at === 'end' && other.run === run.run,
      );
      const before = runs.get(run.run) ?? { ...run, hosts: [] };
      const time = before.time < run.time ? before.time : run.time;
      runs.set(run.run, { ...before, time, hosts: [...before.hosts, { host, end, plan }] });
    }
  }
  return [...runs.values()].sort((a, b) => b.time.localeCompare(a.time));
}
