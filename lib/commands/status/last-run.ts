import { readBounded } from '../../engine/file/bounded-file.ts';
import { type FoundRecord, largestRecord, recordsIn } from '../../engine/report/record.ts';
import { safeName } from '../../engine/report/record-name.ts';

/** How the last run that could change a host went there. */
export interface LastRun {
  readonly playbook: string;
  /** When it ended, ISO 8601, UTC. */
  readonly time: string;
  readonly ended: 'converged' | 'failed' | 'unreachable' | 'interrupted';
  /** Resources that it changed. */
  readonly changed: number;
}

/** Records looked through; a host that none of them names has no last run. */
const mostRead = 20;

/**
 * The newest finished run of an inventory for each host that it worked on, from run records (docs/events.md). Check mode changes
 * nothing and is left out, and so is what cannot be read.
 *
 * @param directory of the records, TIME-INVENTORY.ndjson
 * @returns by the host's name
 */
export async function lastRuns(directory: string, inventory: string): Promise<ReadonlyMap<string, LastRun>> {
  const found = new Map<string, LastRun>();
  const records = foundIn(directory).filter((record) => record.inventory === safeName(inventory));
  for (const { path } of records.slice(0, mostRead)) {
    const text = textOf(path);
    for (const [host, run] of runOf(text, inventory)) if (!found.has(host)) found.set(host, run);
  }
  return found;
}

function foundIn(directory: string): readonly FoundRecord[] {
  try {
    return recordsIn(directory);
  } catch {
    return [];
  }
}

interface Event {
  readonly type?: unknown;
  readonly time?: unknown;
  readonly playbook?: unknown;
  readonly inventory?: unknown;
  readonly check?: unknown;
  readonly interrupted?: unknown;
  readonly hosts?: unknown;
}

interface Summary {
  readonly host?: unknown;
  readonly unreachable?: unknown;
  readonly stopped?: unknown;
  readonly counts?: { readonly failed?: unknown; readonly changed?: unknown };
}

function runOf(text: string, inventory: string): [string, LastRun][] {
  const events = text.split('\n').map(parse);
  const started = events.find((event) => event?.type === 'run-started');
  const finished = events.findLast((event) => event?.type === 'run-finished');
  if (started?.inventory !== inventory || started.check !== false || !Array.isArray(finished?.hosts)) return [];
  return (finished.hosts as (Summary | null)[]).flatMap((summary): [string, LastRun][] => {
    if (typeof summary?.host !== 'string') return [];
    const { unreachable, stopped, counts } = summary;
    const failed = count(counts?.failed) > 0 || stopped !== undefined;
    const ended = unreachable ? 'unreachable' : finished.interrupted ? 'interrupted' : failed ? 'failed' : 'converged';
    const run = {
      playbook: word(started.playbook),
      time: word(finished.time),
      changed: count(counts?.changed),
    };
    return [[summary.host, { ...run, ended }]];
  });
}

function textOf(path: string): string {
  try {
    return readBounded(path, largestRecord).toString('utf8');
  } catch {
    return '';
  }
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function parse(line: string): Event | undefined {
  try {
    return JSON.parse(line) as Event;
  } catch {
    return undefined;
  }
}
