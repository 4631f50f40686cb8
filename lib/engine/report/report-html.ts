import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { seconds } from '../output/units.ts';
import { keysOf } from '../text/keys.ts';
import { clockOf } from './clock.ts';
import { type Html, html, trusted } from './html.ts';
import { outcomes } from './outcomes.ts';
import { badge, entriesSection } from './page/entries.ts';
import { failuresSection } from './page/failures.ts';
import { matrixSection } from './page/matrix-table.ts';
import { timelineSection } from './page/timeline-chart.ts';
import { totalsSection } from './page/totals.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { type ReportData, reportData } from './report-data.ts';

/** A shape beside the colour of the end. */
const endingSigns = {
  failed: '✖',
  unreachable: '✖',
  interrupted: '■',
  open: '■',
  pending: '△',
  converged: '✔',
};

/**
 * A run as one page that opens from disk and loads nothing. It is readable without scripts and
 * without styles; its only script filters. All texts may come from remote machines: they are
 * escaped, and a policy in the page allows no other script or style, and no request.
 */
export function reportHtml(events: readonly RecordedEvent[]): string {
  const report = reportData(events);
  const entries = [...new Set(report.entries.values())];
  const style = part('style.css');
  const script = part('filter.mjs');
  const { playbook, inventory, check } = report.started;
  const hasSlowOk = entries.some(({ cells: [{ outcome }] }) => outcome === 'ok');
  const sources = `default-src 'none'; style-src '${hashOf(style)}'; script-src '${hashOf(script)}'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${sources}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${playbook} on ${inventory}: ${report.ending.text}</title>
<style>${trusted(style)}</style>
</head>
<body>
${header(report)}
${summary(report)}
<main>
${failuresSection(report, entries)}
${entriesSection('changes', check ? 'Pending changes' : 'Changes', ['changed', 'pending', 'skipped'], report, entries)}
${entriesSection('warnings', 'Warnings and unknown', ['warning', 'unknown', 'other'], report, entries)}
${hasSlowOk && entriesSection('waits', 'Ok after a wait', ['ok'], report, entries)}
${matrixSection(report)}
${timelineSection(report)}
${totalsSection(report)}
</main>
<script type="module">${trusted(script)}</script>
</body>
</html>
`.markup;
}

function header({ started, end, ending, hosts, rows }: ReportData): Html {
  const { playbook, inventory, check, time: start } = started;
  const took = seconds((end - start) / 1000);
  const facts = [
    `${new Date(start).toISOString().slice(0, 10)} ${clockOf(start)} UTC`,
    ending.kind === 'open' ? `${took} until the last event` : took,
    check ? 'check mode (nothing is changed)' : 'run',
    `hosts: ${hosts.size} · tasks: ${rows.length}`,
  ];
  return html`<header>
<h1>${playbook} <span class="muted">on</span> ${inventory}</h1>
<p class="ending ${ending.kind}">${endingSigns[ending.kind]} ${ending.text}</p>
<p class="muted">${facts.join(' · ')}</p>
<nav aria-label="Sections"><a href="#failures">Failures</a> <a href="#changes">Changes</a>
<a href="#warnings">Warnings</a> <a href="#tasks">Tasks</a> <a href="#timeline">Timeline</a>
<a href="#totals">Totals</a></nav>
</header>`;
}

/**
 * The number of occurrences of each outcome. A script makes a filter of it, and shows the fields
 * that need a script.
 */
function summary({ hosts, rows }: ReportData): Html {
  const counts = new Map<string, number>();
  for (const { outcome } of rows.flatMap(({ cells }) => [...cells.values()]))
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const chips = keysOf(outcomes).map(
    (outcome) =>
      counts.has(outcome) &&
      html`<label class="chip" title="${outcomes[outcome].means}"><input type="checkbox" name="outcome" value="${outcome}" hidden>
${badge(outcome)} ${outcomes[outcome].word} ${counts.get(outcome)}</label>
`,
  );
  return html`<form role="search" aria-label="Filter">${chips}
<input type="search" name="host" list="hosts" placeholder="Host: rpc-1, db-*" aria-label="Host" hidden>
<datalist id="hosts">${[...hosts.keys()].map((name) => html`<option value="${name}">`)}</datalist>
<input type="search" name="text" placeholder="Task, error, difference" aria-label="Text" hidden>
<button type="reset" hidden>Show all</button> <output></output>
</form>`;
}

function part(name: string): string {
  return readFileSync(new URL(`../../../templates/report/${name}`, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
