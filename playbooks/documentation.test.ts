import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ourCommandLines, refusalsIn } from './testing/command-lines.ts';
import { anchorOf, headingsOf } from './testing/headings.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'templates/project/README.md'].concat(
  readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? `docs/${name}` : [])),
);
const text = (page: string) => readFileSync(join(root, page), 'utf8');

/** Text without code, where brackets are no links. */
const prose = (markdown: string) =>
  markdown.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/(`+)[\s\S]*?\1/g, '');

function brokenLinks(page: string, markdown: string): string[] {
  const links = [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const path = file === '' ? join(root, page) : resolve(root, dirname(page), file);
    if (!existsSync(path) || relative(root, path).startsWith('..')) return true;
    const there = path === join(root, page) ? markdown : readFileSync(path, 'utf8');
    return anchor !== undefined && !headingsOf(there).some((title) => anchorOf(title) === anchor);
  });
}

test.each(pages)('each link of %s leads to a file and a heading that exist', (page) => {
  expect(brokenLinks(page, text(page))).toEqual([]);
});

test('a broken link is noticed', () => {
  const markdown = '# One\n[a](nowhere.md) [b](#one) [c](#two) `[d](e.md)` [f](https://example.org/)\n';
  expect(brokenLinks('docs/index.md', markdown)).toEqual(['nowhere.md', '#two']);
});

test('every page of the site is in its sidebar', () => {
  const config = text('docs/.vitepress/config.mjs');
  const missing = pages
    .flatMap((page) => /^docs\/(.+)\.md$/.exec(page)?.[1] ?? [])
    .filter((name) => name !== 'index' && !config.includes(`'/${name}'`));
  expect(missing).toEqual([]);
});

test('no page of the site is longer than 200 lines', () => {
  const long = pages.filter((page) => page.startsWith('docs/') && text(page).split('\n').length > 201);
  expect(long).toEqual([]);
});

test('each command line in the documentation is one that we accept', async () => {
  const lines = pages
    .filter((page) => page !== 'docs/wrong-commands.md')
    .flatMap((page) => ourCommandLines(text(page).replaceAll('__INVENTORY__', 'mainnet')))
    // The playbook of a reader's own in the example of docs/own-roles.md.
    .filter(([command]) => command !== 'operators');
  expect(lines.length).toBeGreaterThan(60);
  expect(await refusalsIn(lines)).toEqual([]);
}, 300_000);
