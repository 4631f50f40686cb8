import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('no secret of a test is a word: files that share modules share what is masked, and would miss the word', () => {
  const files = ['lib', 'playbooks', 'roles', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name)),
  );
  expect(files.length).toBeGreaterThan(400);
  const words = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/new Secret\('[a-z =\\]+'\)/g)].map(
      ([found]) => `${file}: ${found}`,
    ),
  );
  expect(words).toEqual([]);
});
