import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { failedRun } from './testdata/runs.ts';
import { recordText } from './testdata/scripted-run.ts';
import { writeReport } from './write-report.ts';

test('a report takes the place of an older report, and of nothing else', () => {
  const folder = temporaryDirectory();
  const record = join(folder, 'run.ndjson');
  writeFileSync(record, recordText(failedRun()));
  const [page, key] = [join(folder, 'page.html'), join(folder, 'id_ed25519')];
  for (let times = 0; times < 2; times += 1) writeReport(record, page);
  writeFileSync(key, 'a key\n');
  expect(() => writeReport(record, key)).toThrow(`${key} is there and is not a report: it is not replaced`);
  expect(readFileSync(key, 'utf8')).toBe('a key\n');
});
