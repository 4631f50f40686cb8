import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../problem.ts';
import { readRecord } from './record.ts';
import { reportHtml } from './report-html.ts';

/**
 * Writes the report of a record, mode 0600: it names hosts and shows their files. An older one is replaced as a whole.
 *
 * @param record path of a run record, or of what `--json` printed
 * @param out path of the page
 * @throws Problem for a record that cannot be read (with file and line), and where the page cannot be written
 */
export function writeReport(record: string, out: string): void {
  const html = reportHtml(readRecord(record));
  const beside = `${out}.${randomUUID()}`;
  try {
    if (statSync(out, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Problem(`${out} is a folder`, { hint: 'name a file: --out report.html' });
    }
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(beside, html, { flag: 'wx', mode: 0o600 });
    renameSync(beside, out);
  } catch (error) {
    rmSync(beside, { force: true });
    if (error instanceof Problem) throw error;
    throw new Problem(`the report cannot be written: ${(error as Error).message}`, {
      hint: 'write it elsewhere: --out FILE',
    });
  }
}
