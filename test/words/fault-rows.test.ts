import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../lab/layout.mjs';
import { listFaultTests } from '../faults/list.mjs';
import { pages, rowsOf } from '../faults/results-page.mjs';

test('every test of a fault has a row on the pages of faults, and every row has its test', {
  timeout: 600_000,
}, async () => {
  const key = ({ suite, title }: { suite: string; title: string }) =>
    `${suite}: ${title.replaceAll('\\|', '|')}`;
  const rows = pages.flatMap(({ file }) => rowsOf(readFileSync(join(projectRoot, file), 'utf8')).map(key));
  const tests = (await listFaultTests()).map(key);
  // `npm run faults -- --rows` writes the missing ones, and removes those whose test is gone.
  expect([...rows].sort()).toEqual([...tests].sort());
});
