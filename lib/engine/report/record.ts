import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded, UnfitFile } from '../file/bounded-file.ts';
import { Problem } from '../problem/problem.ts';
import { byAge, parseRecordName, type RecordName } from './record-name.ts';
import { parseEvent, type RecordedEvent } from './recorded-event.ts';

/** A run of a thousand hosts leaves a fifth of this. Bytes. */
export const largestRecord = 256 * 1024 * 1024;

/** A record in a folder. */
export interface FoundRecord extends RecordName {
  readonly path: string;
}

/** The records of a folder, newest first; none where there is no such folder. */
export function recordsIn(folder: string): readonly FoundRecord[] {
  return filesIn(folder)
    .flatMap((file) => {
      const name = parseRecordName(file);
      return name ? [{ ...name, path: join(folder, file) }] : [];
    })
    .sort(byAge);
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Problem(`${folder} cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Reads a record, or any file of events as `--json` prints them. Half a last line is left out: so ends a run that was killed.
 *
 * @throws Problem with file and line for what is no event, and for a file that cannot be read or holds no run
 */
export function readRecord(path: string): readonly RecordedEvent[] {
  const lines = readText(path).split('\n');
  // What follows the last line break: nothing, or a line that was cut off.
  const rest = lines.pop() ?? '';
  const events = lines.flatMap((line, at) => (line.trim() === '' ? [] : (eventOf(line, path, at + 1) ?? [])));
  const last = wholeEvent(rest);
  if (last) events.push(last);
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
    if (error instanceof UnfitFile) throw new Problem(`${path} ${error.message}`, { hint: '--list shows the records' });
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Problem(
      code === 'ENOENT' ? `there is no record ${path}` : `the record ${path} cannot be read: ${message}`,
      { hint: '--list shows the records' },
    );
  }
}

function eventOf(line: string, file: string, number: number): RecordedEvent | undefined {
  try {
    return parseEvent(line);
  } catch (error) {
    throw new Problem((error as Error).message, {
      where: { file, line: number },
      hint: 'take this line out, or choose another record: --list shows them',
    });
  }
}

function wholeEvent(line: string): RecordedEvent | undefined {
  try {
    return parseEvent(line);
  } catch {
    return undefined;
  }
}
