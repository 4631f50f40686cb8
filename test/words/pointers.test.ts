import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { anchorOf, headingsOf } from '../../playbooks/testing/headings.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['lib', 'roles', 'templates', 'playbooks', 'inventory', 'test', 'lab', '.github'];
const isText = (file: string) => /(\.([cm]?[jt]s|sh|ya?ml|json|toml|go|lua|md)|Dockerfile)$/.test(file);

/**
 * Messages and comments name a page (docs/NAME.md), a page and a heading in quotes, or an anchor.
 */
const pointer = /docs\/([\w-]+\.md)(?:#([\w-]+)|,? \\?"([^"\\]+)\\?")?/g;

/** The pointers of a text to a page or a heading that does not exist. */
function brokenPointers(text: string): string[] {
  // A comment or a text may go on in the next line.
  const lines = text.replaceAll(/\n[ \t]*(?:\/\/|\*|#)?[ \t]*/g, ' ');
  return [...lines.matchAll(pointer)].flatMap(([whole, page = '', anchor, title]) => {
    const path = join(root, 'docs', page);
    if (!existsSync(path)) return [whole];
    const headings = headingsOf(readFileSync(path, 'utf8'));
    const isThere =
      anchor === undefined
        ? title === undefined || headings.includes(title)
        : headings.map(anchorOf).includes(anchor);
    return isThere ? [] : [whole];
  });
}

test('each page of the documentation that a message or a comment names exists, and so does the heading', () => {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isText(entry.name) && entry.name !== 'pointers.test.ts')
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const texts = [...files, join(root, 'biome.json'), join(root, 'Dockerfile')].map(
    (file) => [file, readFileSync(file, 'utf8')] as const,
  );
  expect(texts.flatMap(([, text]) => text.match(pointer) ?? []).length).toBeGreaterThan(100);
  const broken = texts.flatMap(([file, text]) =>
    brokenPointers(text).map((one) => `${file.slice(root.length)}: ${one}`),
  );
  expect(broken).toEqual([]);
});

test('a pointer to nowhere is noticed', () => {
  const text = `see docs/nowhere.md; docs/recover.md; docs/recover.md, "Recover"; docs/recover.md#recover
    // docs/recover.md,
    // "Too many files", and docs/recover.md#nowhere; 'docs/recover.md, \\"None\\"'`;
  expect(brokenPointers(text)).toEqual([
    'docs/nowhere.md',
    'docs/recover.md, "Too many files"',
    'docs/recover.md#nowhere',
    'docs/recover.md, \\"None\\"',
  ]);
});
