import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { cannotWrite, writePrivateFile } from '../file/private-output.ts';
import { Problem } from '../problem/problem.ts';
import { readRecord } from './record.ts';
import { reportHtml } from './report-html.ts';
import { reportOutput } from './report-output.ts';

/**
 * Writes the report of a record, mode 0600, because it names hosts and shows their files. An older
 * report is replaced.
 *
 * @param record path of a run record, or of the output of `--json`
 * @param out path of the page
 * @throws Problem for a record that cannot be read (with file and line), and where the page cannot
 * be written
 */
export function writeReport(record: string, out: string): void {
  const html = reportHtml(readRecord(record));
  if (resolve(record) === resolve(out))
    throw new Problem(`${out} is the record itself`, { hint: 'choose another file: --out FILE' });
  if (!/^\/(proc|sys|dev)\//.test(resolve(out))) makeFolder(dirname(resolve(out)), out);
  writePrivateFile(out, html, reportOutput);
}

function makeFolder(folder: string, out: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw cannotWrite(out, error);
  }
}
