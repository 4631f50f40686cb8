import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError } from '../output/describe-error.ts';
import { eventLine } from '../output/event-json.ts';
import type { Listener, RunEvent } from '../run/events.ts';
import {
  byAge,
  parseRecordName,
  type RecordName,
  recordName,
  reportBeside,
  safeName,
  sortableTime,
} from './record-name.ts';

/** Where the records of runs are: `.runs` beside the folder of the playbooks. */
export const recordFolder = fileURLToPath(new URL('../../../.runs', import.meta.url));

/** Records kept; a deploy a day makes this a season. */
const kept = 100;

export interface RunRecordOptions {
  /** Made, mode 0700, where it is not there. */
  readonly folder: string;
  /** The inventory's name. */
  readonly inventory: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Told once what keeps the record from being written. Default: standard error. */
  readonly complain?: (line: string) => void;
  /** How many records stay, this one among them. */
  readonly keep?: number;
}

export interface RunRecord {
  readonly listener: Listener;
  /** The file, from the first event on; undefined where it could not be made or went on no further. */
  readonly path: string | undefined;
}

/**
 * Writes what a run tells into a file of its own, line by line (docs/events.md), so that a run that is killed leaves what it told
 * so far. A full disk or an unwritable folder is told once and never stops the run.
 */
export function runRecord(options: RunRecordOptions): RunRecord {
  const { folder, inventory, now = Date.now, keep = kept } = options;
  const complain = options.complain ?? ((line) => void process.stderr.write(`${line}\n`));
  const thin = thinner();
  let path: string | undefined;
  let lost = false;
  let written = 0;

  const write = (event: RunEvent) => {
    const at = now();
    if (!thin(event, at)) return;
    if (path === undefined) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      path = create(folder, at, inventory);
      try {
        removeOld(folder, keep);
      } catch (error) {
        complain(`an old run record could not be removed: ${describeError(error)}`);
      }
    }
    appendFileSync(path, `${eventLine(event, at)}\n`, { mode: 0o600 });
    written += 1;
  };

  /** A record with a hole in it would lie: it ends where the first line could not be written. */
  const giveUp = (error: unknown) => {
    lost = true;
    complain(`this run is not recorded${written > 0 ? ' any further' : ''}: ${describeError(error)}`);
    // An empty one would be the newest record and say nothing.
    if (written === 0 && path !== undefined) rmSync(path, { force: true });
  };

  return {
    listener: (event) => {
      if (lost) return;
      try {
        write(event);
      } catch (error) {
        giveUp(error);
      }
    },
    get path() {
      return lost ? undefined : path;
    },
  };
}

/**
 * The name is taken in the same step in which it is seen to be free, and no link is followed. Of two runs that begin in one second
 * the later is named after the next.
 */
function create(folder: string, at: number, inventory: string): string {
  for (let time = at; ; time += 1000) {
    const path = join(folder, recordName({ time: sortableTime(time), inventory: safeName(inventory) }));
    try {
      writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Removes the oldest records, and the reports that stand beside them. Whatever is called otherwise is not ours. */
function removeOld(folder: string, keep: number): void {
  const ours = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ name }): (readonly [string, RecordName])[] => {
      const parsed = parseRecordName(name);
      return parsed ? [[name, parsed]] : [];
    })
    .sort(([, a], [, b]) => byAge(a, b));
  for (const [name] of ours.slice(keep)) {
    rmSync(join(folder, name), { force: true });
    rmSync(join(folder, reportBeside(name)), { force: true });
  }
}

/** Milliseconds between two words of progress of one host: from a second in short work to ten in long. */
const pause = { least: 1000, most: 10_000, share: 1 / 60 };

/** Says of each event whether it is written down: of the progress of ten hours only so much that the file stays small. */
function thinner(): (event: RunEvent, at: number) => boolean {
  const began = new Map<string, number>();
  const last = new Map<string, number>();
  return (event, at) => {
    if (event.type === 'resource-started') began.set(event.step.host, at);
    if (event.type !== 'progress') return true;
    const { host } = event.step;
    const before = last.get(host);
    const lasted = at - (began.get(host) ?? at);
    const wait = Math.min(pause.most, Math.max(pause.least, lasted * pause.share));
    if (before !== undefined && at - before < wait) return false;
    last.set(host, at);
    return true;
  };
}
