import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { printable } from '../text/printable.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { type ReportData, reportData } from './report-data.ts';

/** The page's scripts, each before those that import it. */
const scripts = [
  'words',
  'dom',
  'report',
  'filter',
  'details',
  'head',
  'failures',
  'totals',
  'matrix',
  'timeline',
  'changes',
  'main',
];

/**
 * A run as one page that opens from disk and loads nothing: style, scripts and data stand in it.
 *
 * What it says comes from remote machines. So the data is JSON with no `<` in it, the scripts make text of it and never markup,
 * and a policy in the page lets no other script run and no request out.
 */
export function reportHtml(events: readonly RecordedEvent[]): string {
  const data = reportData(events);
  const style = part('style.css');
  const script = scripts.map(linked).join('\n');
  const values: Record<string, string> = {
    title: escaped(titleOf(data)),
    policy: `default-src 'none'; style-src '${hashOf(style)}'; script-src '${hashOf(script)}'; base-uri 'none'; form-action 'none'`,
    style,
    data: JSON.stringify(data, (_, value) => (typeof value === 'string' ? printable(value) : value)).replaceAll(
      '<',
      '\\u003c',
    ),
    script,
  };
  return part('page.html').replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) => values[name] ?? '');
}

function titleOf({ run }: ReportData): string {
  return `${run.playbook} on ${run.inventory}: ${run.ending.text}`;
}

function part(name: string): string {
  return readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
}

/** A module as part of one script, for a page on disk can import nothing: its imports are parts before it, its exports its value. */
function linked(name: string): string {
  const exported: string[] = [];
  const body = part(`${name}.mjs`)
    .replaceAll(
      /^import (\{[^}]*\}) from '\.\/([a-z]+)\.mjs';$/gm,
      (_, names: string, from: string) => `const ${names} = ${from}Part;`,
    )
    .replaceAll(/^export ((?:const|function) (\w+))/gm, (_, declaration: string, named: string) => {
      exported.push(named);
      return declaration;
    });
  return `const ${name}Part = (() => {\n${body}\nreturn { ${exported.join(', ')} };\n})();`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function escaped(text: string): string {
  const safe: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
  return printable(text).replaceAll(/[<>&"]/g, (character) => safe[character] ?? character);
}
