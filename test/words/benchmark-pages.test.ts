import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { savedResults, tablesOf } from '../bench/results.ts';
import { summaryOf } from '../bench/summary.ts';

const page = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');

test('the tables of the benchmark are of its saved results', () => {
  const results = savedResults();
  expect(results.length).toBeGreaterThan(5);
  expect(page('benchmarks')).toContain(summaryOf(results));
  expect(page('benchmark-results')).toContain(tablesOf(results));
});
