import { expect, test } from 'vitest';
import { faultTests, rowsOf, withResults } from './results-page.mjs';

const file = '/project/test/faults/cut-connections.test.ts';
const result = (title: string, status: string, measured?: string) => ({
  title,
  status,
  file,
  ancestorTitles: ['a wire is cut'],
  duration: 1234,
  meta: measured === undefined ? {} : { measured },
});
const run = (day: string, commit: string) => ({ day, commit, seed: '7', machine: 'Linux, 2 processors' });
const titles = ['one', 'two|three', 'four', 'five'];
const tests = titles.map((title) => ({ suite: 'A wire is cut', title }));

test('a row has the day and the code of its run, and earlier rows stay', () => {
  const results = [
    result('one', 'passed', 'reported after 60 s'),
    result('two|three', 'failed'),
    result('four', 'skipped'),
    result('five', 'skipped', 'nobody answers'),
  ];
  const first = withResults(
    '# Page\n\n<!-- table -->\n',
    'docs/faults.md',
    results,
    tests,
    run('2024-05-01', 'a1'),
  );
  expect(first).toBe(`# Page

<!-- table -->

## A wire is cut

| Fault | Result | Time | Last run |
|---|---|---|---|
| one | passed: reported after 60 s | 1.2 s | 2024-05-01 a1 |
| two\\|three | failed | 1.2 s | 2024-05-01 a1 |
| four | not run | | |
| five | not run: nobody answers | 1.2 s | 2024-05-01 a1 |

## Runs

| Run | Seed | Machine |
|---|---|---|
| 2024-05-01 a1 | 7 | Linux, 2 processors |
`);
  const again = [result('two|three', 'passed')];
  const second = withResults(first, 'docs/faults.md', again, tests, run('2024-06-01', 'b2'));
  expect(second).toBe(
    first
      .replace('failed | 1.2 s | 2024-05-01 a1', 'passed | 1.2 s | 2024-06-01 b2')
      .replace(
        '| 2024-05-01 a1 | 7 | Linux, 2 processors |\n',
        (line) => `${line}${line.replace('05-01 a1', '06-01 b2')}`,
      ),
  );
  expect(rowsOf(second)).toEqual(
    tests.map(({ suite, title }) => ({ suite, title: title.replace('|', '\\|') })),
  );
});

test('the row of a test that is gone goes, and its run with it', () => {
  const page = withResults(
    '<!-- table -->\n',
    'docs/faults.md',
    [result('one', 'passed')],
    tests.slice(0, 1),
    run('2024-05-01', 'a1'),
  );
  const later = withResults(page, 'docs/faults.md', [], tests.slice(1, 2), run('2024-06-01', 'b2'));
  expect(rowsOf(later)).toEqual([{ suite: 'A wire is cut', title: 'two\\|three' }]);
  expect(later).not.toContain('2024');
});

test('a suite is on one page, and a test outside of suites is under the name of its file', () => {
  const listed = [
    { name: 'hostile files > one', file },
    { name: 'own snapshots > one', file },
    { name: 'a wire is cut > one', file },
    { name: 'one', file: '/project/test/deploy/older.test.ts' },
    { name: 'a suite > one', file: '/project/test/faults/results-page.test.ts' },
  ];
  const all = faultTests(listed);
  expect(all.map(({ suite }) => suite)).toEqual(['Hostile files', 'Own snapshots', 'A wire is cut', 'Older']);
  const on = (page: string) =>
    rowsOf(withResults('<!-- table -->\n', page, [], all, run('2024-05-01', 'a1')));
  expect(
    ['docs/faults.md', 'docs/faults-data.md', 'docs/faults-input.md'].map((page) =>
      on(page).map(({ suite }) => suite),
    ),
  ).toEqual([['A wire is cut', 'Older'], ['Own snapshots'], ['Hostile files']]);
});
