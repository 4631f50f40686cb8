import { type Html, html } from '../html.ts';
import type { Cell, Row } from '../matrix.ts';
import { outcomes } from '../outcomes.ts';
import type { ReportData } from '../report-data.ts';
import { badge, outcomeText } from './entry.ts';

/** So many hosts have room for words; with more, each cell has one letter. */
const roomForWords = 8;

/** Tasks by hosts. A cell that says more than its outcome is a link to it. HTML needs no end of a cell: thousands stay light. */
export function matrixSection({ rows, hosts, entries }: ReportData): Html {
  if (rows.length === 0)
    return html`<section id="tasks"><h2>Tasks</h2><p class="muted">No task was reported.</p></section>`;
  const wide = hosts.size <= roomForWords;
  const line = (row: Row) => html`<tr id="row-${rows.indexOf(row)}"><th scope="row">${row.resource}</th>${[
    ...hosts.keys(),
  ].map((host) => {
    const cell = row.cells.get(host);
    return cell ? cellOf(cell, entries.get(cell)?.id, wide) : html`<td>`;
  })}</tr>
`;
  const body = (
    group: [Row, ...Row[]],
  ) => html`<tbody><tr><th scope="rowgroup" class="group" colspan="${hosts.size + 1}"><span>${group[0].play} · <b>${group[0].role}</b></span></th></tr>
${group.map(line)}</tbody>
`;
  return html`<section id="tasks"><h2>Tasks</h2>
<ul class="legend muted">${Object.entries(outcomes).map(([outcome, { word, means }]) => html`<li>${badge(outcome as keyof typeof outcomes)} ${word}: ${means}</li>`)}</ul>
<div class="scroll" tabindex="0" role="region" aria-label="Tasks by host"><table class="matrix${wide && ' wide'}">
<thead><tr><td></td>${[...hosts.values()].map(({ id, name }) => html`<th scope="col"><a href="#${id}">${name}</a></th>`)}</tr></thead>
${groupsOf(rows).map(body)}</table></div></section>`;
}

function cellOf(cell: Cell, entry: string | undefined, wide: boolean): Html {
  const { letter } = outcomes[cell.outcome];
  const text = wide ? html`${letter} <span>${outcomeText(cell)}</span>` : html`${letter}`;
  const style = cell.outcome !== 'ok' && html` class="${cell.outcome}"`;
  if (entry === undefined) return html`<td${style}>${text}`;
  return html`<td${style}><a href="#${entry}"${!wide && html` title="${outcomeText(cell)}"`}>${text}</a>`;
}

/** Rows that follow each other in one play and role. */
function groupsOf(rows: readonly Row[]): [Row, ...Row[]][] {
  const groups: [Row, ...Row[]][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0].play === row.play && group[0].role === row.role) group.push(row);
    else groups.push([row]);
  }
  return groups;
}
