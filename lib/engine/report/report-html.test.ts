import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { seconds } from '../output/units.ts';
import { duration } from './page/words.mjs';
import { reportHtml } from './report-html.ts';
import { failedRun, hostileRun } from './testdata/runs.ts';
import { recorded } from './testdata/scripted-run.ts';

const folder = new URL('page/', import.meta.url);

test('the page is one file that loads nothing, with its data where no markup in them can end it', () => {
  const html = reportHtml(recorded(hostileRun()));
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(html).not.toMatch(/<img|<!--|(src|href)="?http/);
  expect(html).toContain(`content="default-src 'none'; style-src 'sha256-`);
  const [, json] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? [];
  expect(json).not.toContain('<');
  expect(JSON.parse(json ?? '').run.playbook).toContain('<img src=x');
  // What stands in the data is data also where it looks like a place of the page's own frame.
  expect(html).toContain('{{ data }} $& $1');
});

test('the title says what, where and how it ended', () => {
  expect(reportHtml(recorded(failedRun()))).toContain('<title>deploy on lab: failed: rpc-2</title>');
});

test('the page makes text of what it shows and never markup', () => {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.mjs'))) {
    const script = readFileSync(new URL(name, folder), 'utf8');
    expect(script, name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|eval\(|new Function/,
    );
    expect(script, name).not.toMatch(/setAttribute\('(style|on)/);
    // What the page is put together from understands these forms alone.
    for (const [line] of script.matchAll(/^import .*$/gm))
      expect(line, name).toMatch(/^import \{.*(\} from '\.\/[a-z]+\.mjs';)?$/);
    for (const [line] of script.matchAll(/^export .*$/gm)) expect(line, name).toMatch(/^export (const|function) /);
  }
});

test('the page tells durations as the terminal does', () => {
  for (const value of [0, 0.44, 9.96, 12, 119.6, 200, 7199.7, 7500, 90_000])
    expect(duration(value)).toBe(seconds(value));
});
