import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wrongInputPages } from '../docs/reference/wrong-input.ts';

test('the pages of wrong input have the answers of today', async () => {
  const pages = await wrongInputPages();
  const saved = Object.keys(pages).map(
    (name) => [name, readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')] as const,
  );
  expect(pages, 'npx zx docs/wrong-input.mjs writes them').toEqual(Object.fromEntries(saved));
  // At least as many as were promised.
  const rows = saved.flatMap(([, page]) => page.split('\n').filter((line) => line.startsWith('| `')));
  expect(rows.length).toBeGreaterThanOrEqual(150);
}, 400_000);
