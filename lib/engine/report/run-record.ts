import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { describeError } from '../output/describe-error.ts';
import { eventLine } from '../output/event-json.ts';
import type { RunEvent } from '../run/events.ts';
import { errorCode } from '../text/error-code.ts';
import { type FoundRecord, recordsIn, refuseOthersRecords } from './record.ts';
import { byAge, recordName, reportBeside, safeName } from './record-name.ts';

/** Records kept of each inventory and mode; with one deploy a day, those of three months. */
const kept = 100;
/** Records kept of all inventories. Beyond that, records of check mode are removed first. */
const keptInAll = 2000;

export interface RunRecordOptions {
  /** Created with mode 0700 if it does not exist. */
  readonly folder: string;
  /** The inventory's name. */
  readonly inventory: string;
  /**
   * Whether the run is in check mode. Its record never replaces one of a run that changes hosts.
   */
  readonly check: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Called once with the reason why the record cannot be written. Default: standard error. */
  readonly complain?: (line: string) => void;
  /** Records kept of each inventory and mode, this one included. */
  readonly keep?: number;
  /** Records kept in all. */
  readonly keepInAll?: number;
}

/**
 * Writes the events of a run into a separate file, line by line (docs/events.md), so that a killed
 * run leaves its events so far. A full disk or an unwritable folder is reported once and never
 * stops the run.
 *
 * @throws Problem where the folder is a link, or another user could change it: before anything is
 * written
 */
export function runRecord(options: RunRecordOptions) {
  const { folder, now = Date.now, complain = console.error } = options;
  refuseOthersRecords(folder);
  const isRecorded = thinProgress();
  let record: OpenRecord | undefined;
  let lost = false;
  let written = 0;

  const listener = (event: RunEvent) => {
    if (lost) return;
    try {
      const at = now();
      if (!isRecorded(event, at)) return;
      if (!record) {
        if (fs.mkdirSync(folder, { recursive: true, mode: 0o700 })) giveFolderToOwner(folder);
        record = create(at, options);
        giveToOwner(record.file, folder);
        removeOld(options, complain);
      }
      fs.appendFileSync(record.file, `${eventLine(event, at)}\n`);
      written += 1;
    } catch (error) {
      // A record with a gap would be misleading: it ends where the first line could not be
      // written.
      lost = true;
      complain(complaint(written, record?.path ?? folder, error));
      // Otherwise an empty file would be listed as the newest record.
      if (written === 0 && record) fs.rmSync(record.path, { force: true });
    }
  };
  return {
    listener,
    /** The file, from the first event on; undefined if it could not be created or continued. */
    get path(): string | undefined {
      return lost ? undefined : record?.path;
    },
  };
}

/**
 * @param written number of its lines
 */
function complaint(written: number, path: string, error: unknown): string {
  const what = written > 0 ? 'the record of this run is incomplete from here on' : 'this run is not recorded';
  const code = errorCode(error);
  return `${what}: ${path} cannot be written${code ? ` (${code})` : ''}`;
}

interface OpenRecord {
  readonly path: string;
  /** Open until the process ends: opening it for every event takes longer than writing. */
  readonly file: number;
}

/**
 * What root makes in the folder of another user is that user's, whose runs write there, too.
 *
 * @param file open: a name could lead elsewhere by now
 */
function giveToOwner(file: number, folder: string): void {
  const { uid, gid } = fs.statSync(folder);
  if (process.getuid?.() === 0) fs.fchownSync(file, uid, gid);
}

function giveFolderToOwner(path: string): void {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
  const folder = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  giveToOwner(folder, dirname(path));
  fs.closeSync(folder);
}

/**
 * Uses a free name, follows no link. Of two runs that start in one second, the later gets the name
 * of the next second.
 */
function create(at: number, { folder, inventory, check }: RunRecordOptions): OpenRecord {
  for (let start = at; ; start += 1000) {
    const time = new Date(start).toISOString().replace(/[-:]|\.\d+/g, '');
    const path = join(folder, recordName({ time, inventory: safeName(inventory), check }));
    try {
      return { path, file: fs.openSync(path, 'ax', 0o600) };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

function removeOld(options: RunRecordOptions, complain: (line: string) => void): void {
  try {
    removeOldest(options);
  } catch (error) {
    complain(`an old run record could not be removed: ${describeError(error)}`);
  }
}

/**
 * Removes the oldest records, and the reports beside them. Files with other names are not ours.
 */
function removeOldest({ folder, keep = kept, keepInAll = keptInAll }: RunRecordOptions): void {
  const records = recordsIn(folder);
  const sameKind = new Map<string, FoundRecord[]>();
  for (const record of records) {
    const kind = `${record.inventory} ${record.check}`;
    sameKind.set(kind, [...(sameKind.get(kind) ?? []), record]);
  }
  const stay = new Set([...sameKind.values()].flatMap((some) => some.slice(0, keep)));
  const inOrder = [...stay].sort((a, b) => Number(a.check) - Number(b.check) || byAge(a, b));
  for (const record of inOrder.slice(keepInAll)) stay.delete(record);
  for (const { path } of records.filter((record) => !stay.has(record))) {
    for (const file of [path, reportBeside(path)]) fs.rmSync(file, { force: true });
  }
}

/**
 * Milliseconds between two progress events of one host: from a second in short work to ten in long
 * work.
 */
const betweenProgress = { least: 1000, most: 10_000, share: 1 / 60 };

/**
 * @returns whether an event is recorded: only so much progress that the file stays small
 */
function thinProgress(): (event: RunEvent, at: number) => boolean {
  const started = new Map<string, number>();
  const last = new Map<string, number>();
  return (event, at) => {
    if (event.type === 'resource-started') started.set(event.task.host, at);
    if (event.type !== 'progress') return true;
    const { host } = event.task;
    const lasted = at - (started.get(host) ?? at);
    const wait = Math.min(
      betweenProgress.most,
      Math.max(betweenProgress.least, lasted * betweenProgress.share),
    );
    if (at - (last.get(host) ?? Number.NEGATIVE_INFINITY) < wait) return false;
    last.set(host, at);
    return true;
  };
}
