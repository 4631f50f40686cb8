import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wrongInputPage } from '../docs/reference/wrong-input.ts';

test('the page of wrong input has the answers of today', async () => {
  const page = readFileSync(new URL('../docs/wrong-input.md', import.meta.url), 'utf8');
  expect(await wrongInputPage(), 'npx zx docs/wrong-input.mjs writes it').toBe(page);
  // At least as many as were promised.
  expect(page.split('\n').filter((line) => line.startsWith('| `')).length).toBeGreaterThanOrEqual(150);
}, 400_000);
