import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded, UnfitFile, unfitness } from '../file/bounded-file.ts';
import { Problem } from '../problem/problem.ts';
import { errorCode, messageOf } from '../text/error-code.ts';
import { byAge, parseRecordName, type RecordName } from './record-name.ts';
import { parseEvent, type RecordedEvent } from './recorded-event.ts';

/** A run of a thousand hosts writes a fifth of this. Bytes. */
export const largestRecord = 256 * 1024 * 1024;

/** A record in a folder. */
export interface FoundRecord extends RecordName {
  readonly path: string;
}

/**
 * Refuses a folder of records that is a link, or that another user could change. A repository may
 * hold a link, and a record would be written wherever it leads.
 *
 * @throws Problem
 */
export function refuseOthersRecords(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const hint = 'put a folder in its place, or mount one there';
    throw new Problem(`${folder} is a link, and records of runs are written only into a folder`, { hint });
  }
  const unfit = unfitness(folder, { alone: true });
  if (unfit) throw new Problem(`${folder} ${unfit.message}`, { hint: unfit.hint });
}

/**
 * The records of a folder, newest first; none if the folder does not exist. A record is a regular
 * file.
 *
 * @throws Problem as refuseOthersRecords, and where the folder cannot be read
 */
export function recordsIn(folder: string): readonly FoundRecord[] {
  refuseOthersRecords(folder);
  try {
    return readdirSync(folder, { withFileTypes: true })
      .flatMap((entry) => {
        const name = entry.isFile() ? parseRecordName(entry.name) : undefined;
        return name ? [{ ...name, path: join(folder, entry.name) }] : [];
      })
      .sort(byAge);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new Problem(`${folder} cannot be read: ${messageOf(error)}`);
  }
}

/**
 * Reads a record, or any file of events from `--json`. An incomplete last line is left out: a
 * killed run leaves one.
 *
 * @throws Problem with file and line for an invalid event, and for a file that cannot be read or
 * has no run
 */
export function readRecord(path: string): readonly RecordedEvent[] {
  const lines = readText(path).split('\n');
  const events = lines.flatMap((line, at) => {
    try {
      return line.trim() === '' ? [] : (parseEvent(line) ?? []);
    } catch (error) {
      if (at === lines.length - 1) return [];
      throw new Problem((error as Error).message, {
        where: { file: path, line: at + 1 },
        hint: 'remove this line, or choose another record: --list shows them',
      });
    }
  });
  if (!events.some(({ type }) => type === 'run-started')) {
    const what = events.length === 0 ? 'it holds no event' : 'it holds no start of a run';
    throw new Problem(what, { where: { file: path }, hint: 'choose another record: --list shows them' });
  }
  return events;
}

function readText(path: string): string {
  try {
    return readBounded(path, largestRecord).toString('utf8');
  } catch (error) {
    const hint = '--list shows the records';
    const message = messageOf(error);
    if (error instanceof UnfitFile) throw new Problem(`${path} ${message}`, { hint: error.hint ?? hint });
    if (errorCode(error) === 'ENOENT') throw new Problem(`there is no record ${path}`, { hint });
    throw new Problem(`the record ${path} cannot be read: ${message}`, { hint });
  }
}
