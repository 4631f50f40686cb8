import { seconds } from '../../output/units.ts';
import { type Html, html } from '../html.ts';
import { outcomes, type ShownOutcome } from '../outcomes.ts';
import type { ReportData, ReportedHost } from '../report-data.ts';

/**
 * One line a host, the worst first, with the important outcomes first: they stay visible on a
 * narrow screen.
 */
export function totalsSection(report: ReportData): Html {
  const countOf = ({ name, summary }: ReportedHost, outcome: ShownOutcome) =>
    summary?.counts[outcome] ??
    report.rows.filter(({ cells }) => cells.get(name)?.outcome === outcome).length;
  const badness = (host: ReportedHost) => {
    if (host.unreachable) return 3;
    if (countOf(host, 'failed') > 0) return 2;
    return host.stopped ? 1 : 0;
  };
  const hosts = [...report.hosts.values()].sort((a, b) => badness(b) - badness(a));
  const columns = [
    'failed',
    report.started.check ? 'pending' : 'changed',
    'unknown',
    'warning',
    'ok',
  ] as const;
  const head = ['host', ...columns.map((outcome) => outcomes[outcome].word), 'time', 'round trips'];
  const sum = (of: (host: ReportedHost) => number) => hosts.reduce((total, host) => total + of(host), 0);
  const count = (number: number, outcome: ShownOutcome) =>
    html`<td>${number > 0 && outcome !== 'ok' ? html`<b class="badge ${outcome}">${number}</b>` : number}</td>`;
  const line = (host: ReportedHost) => html`<tr data-hosts="${host.id}">
<th scope="row"><a href="#${host.id}">${host.name}</a></th>
${columns.map((outcome) => count(countOf(host, outcome), outcome))}
<td>${host.summary ? seconds(host.summary.seconds) : '–'}</td><td>${host.summary?.roundTrips ?? '–'}</td></tr>
${
  badness(host) > 0 &&
  html`<tr class="why" data-hosts="${host.id}">
<td colspan="${head.length}"><span>${reasonOf(host)}</span></td></tr>
`
}`;
  const sums = html`<tfoot><tr><th scope="row">${hosts.length} hosts</th>
${columns.map((outcome) => html`<td>${sum((host) => countOf(host, outcome))}</td>`)}
<td>${seconds((report.end - report.started.time) / 1000)}</td>
<td>${sum(({ summary }) => summary?.roundTrips ?? 0) || '–'}</td></tr></tfoot>`;
  return html`<section id="totals"><h2>Totals</h2>
<div class="scroll roomy" tabindex="0" role="region" aria-label="Totals"><table class="totals">
<thead><tr>${head.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>${hosts.map(line)}</tbody>${hosts.length > 1 && sums}</table></div></section>`;
}

/** Why it stopped, and the remaining tasks. */
function reasonOf({ unreachable, stopped }: ReportedHost): string {
  if (unreachable) return 'unreachable';
  if (!stopped) return 'failed';
  const { why, left, next } = stopped;
  return [why, left !== undefined && `${left} left`, next !== undefined && `next: ${next}`]
    .filter(Boolean)
    .join('; ');
}
