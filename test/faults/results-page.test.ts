import { expect, test } from 'vitest';
import { resultsOn, withResults } from './results-page.mjs';

const result = (title: string, status: string, measured?: string) => ({
  title,
  status,
  ancestorTitles: ['a wire is cut'],
  duration: 1234,
  meta: measured === undefined ? {} : { measured },
});

test('results are in the table of their suite, and earlier results of tests that did not run stay', () => {
  const first = withResults(
    '# Page\n\n<!-- table -->\nNot run yet.\n',
    [
      result('one', 'passed', 'reported after 60 s'),
      result('two|three', 'failed'),
      result('four', 'skipped'),
      result('five', 'skipped', 'nobody answers'),
    ],
    '2024-05-01',
  );
  expect(first).toBe(`# Page

<!-- table -->

## A wire is cut

| Fault | Result | Time | Day |
|---|---|---|---|
| one | passed: reported after 60 s | 1.2 s | 2024-05-01 |
| two\\|three | failed | 1.2 s | 2024-05-01 |
| five | not run: nobody answers | 1.2 s | 2024-05-01 |
`);
  const second = withResults(first, [result('two|three', 'passed')], '2024-06-01');
  expect(second).toBe(first.replace('failed | 1.2 s | 2024-05-01', 'passed | 1.2 s | 2024-06-01'));
});

test('a suite has one page', () => {
  const suites = ['hostile files', 'own snapshots', 'a storage of snapshots', 'a wire is cut'];
  const results = suites.map((suite) => ({ ...result('one', 'passed'), ancestorTitles: [suite] }));
  const on = (file: string) => resultsOn(file, results).flatMap(({ ancestorTitles }) => ancestorTitles);
  expect(
    ['docs/faults-input.md', 'docs/faults-data.md', 'docs/faults-storage.md', 'docs/faults.md'].map(on),
  ).toEqual(suites.map((suite) => [suite]));
});
