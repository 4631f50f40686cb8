import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { seconds } from '../output/units.ts';
import { clockOf } from './clock.ts';
import { groupsOf } from './groups.ts';
import { type Html, html, trusted } from './html.ts';
import { outcomes, type ShownOutcome } from './outcomes.ts';
import { entriesSection } from './page/entries.ts';
import { badge } from './page/entry.ts';
import { failuresSection } from './page/failures.ts';
import { matrixSection } from './page/matrix-table.ts';
import { timelineSection } from './page/timeline-chart.ts';
import { totalsSection } from './page/totals.ts';
import type { RecordedEvent } from './recorded-event.ts';
import { type ReportData, reportData } from './report-data.ts';

/** A shape beside the colour of the end. */
const endingSigns = { failed: '✖', unreachable: '✖', interrupted: '■', open: '■', pending: '△', converged: '✔' };

/**
 * A run as one page that opens from disk and loads nothing. It can be read without scripts and without styles; its one script
 * filters. All texts may come from remote machines: they are escaped, and a policy in the page allows no other script or style,
 * and no request.
 */
export function reportHtml(events: readonly RecordedEvent[]): string {
  const report = reportData(events);
  const entries = [...new Set(report.entries.values())];
  const style = part('style.css');
  const script = part('filter.mjs');
  const changes = report.check ? 'Pending changes' : 'Changes';
  const hasSlowOk = entries.some(({ cells: [{ outcome }] }) => outcome === 'ok');
  const policy = `default-src 'none'; style-src '${hashOf(style)}'; script-src '${hashOf(script)}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${report.playbook} on ${report.inventory}: ${report.ending.text}</title>
<style>${trusted(style)}</style>
</head>
<body>
${header(report)}
${filterForm(report)}
<main>
${failuresSection(report, entries)}
${entriesSection('changes', changes, ['changed', 'pending'], report, entries)}
${entriesSection('warnings', 'Warnings and unknown', ['warning', 'unknown', 'other'], report, entries)}
${hasSlowOk && entriesSection('waits', 'Ok after a wait', ['ok'], report, entries)}
${matrixSection(report)}
${timelineSection(report)}
${totalsSection(report)}
</main>
<script type="module">${trusted(script)}</script>
</body>
</html>
`;
  return page.markup;
}

function header({ playbook, inventory, check, start, end, ending, hosts, rows }: ReportData): Html {
  const took = seconds((end - start) / 1000);
  const facts = [
    `${new Date(start).toISOString().slice(0, 10)} ${clockOf(start)} UTC`,
    ending.kind === 'open' ? `${took} until the last event` : took,
    check ? 'check mode (nothing is changed)' : 'run',
    counted(hosts.size, 'host'),
    counted(rows.length, 'task'),
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

/** Shown by the script that it needs. */
function filterForm({ hosts, rows }: ReportData): Html {
  const cells = groupsOf(
    rows.flatMap((row) => [...row.cells.values()]),
    ({ outcome }) => outcome,
  );
  const counts = new Map(cells.map((same) => [same[0].outcome, same.length]));
  const chips = (Object.keys(outcomes) as ShownOutcome[])
    .filter((outcome) => counts.has(outcome))
    .map(
      (outcome) => html`<label class="chip"><input type="checkbox" name="outcome" value="${outcome}">
${badge(outcome)} ${outcomes[outcome].word} ${counts.get(outcome)}</label>
`,
    );
  return html`<form id="filter" role="search" aria-label="Filter" hidden>
${chips}
<input type="search" name="host" list="hosts" placeholder="Host: rpc-1, db-*" aria-label="Host">
<datalist id="hosts">${[...hosts.keys()].map((name) => html`<option value="${name}">`)}</datalist>
<input type="search" name="text" placeholder="Task, error, difference" aria-label="Text">
<button type="reset">Show all</button> <output></output>
</form>`;
}

/** `1 host`, `3 hosts`. */
function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

function part(name: string): string {
  return readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
