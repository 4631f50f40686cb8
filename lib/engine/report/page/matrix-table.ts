import { groupsOf } from '../groups.ts';
import { type Html, html } from '../html.ts';
import type { Cell, Row } from '../matrix.ts';
import { outcomes } from '../outcomes.ts';
import type { ReportData, ReportedHost } from '../report-data.ts';
import { outcomeText } from './entries.ts';

/** Up to this many hosts there is room for words; with more, each cell has one letter. */
const roomForWords = 8;

/**
 * Tasks by hosts. A cell with more than its outcome is a link. HTML needs no end tag of a cell,
 * which keeps thousands small.
 */
export function matrixSection({ rows, hosts, entries }: ReportData): Html {
  const wide = hosts.size <= roomForWords;
  const cellIn = (cell: Cell | undefined) => (cell ? cellOf(cell, entries.get(cell)?.id, wide) : html`<td>`);
  const line = (row: Row) => html`<tr id="row-${rows.indexOf(row)}"><th scope="row">${row.resource}</th>
${[...hosts.keys()].map((host) => cellIn(row.cells.get(host)))}</tr>
`;
  const heading = ({ play, role }: Row) => html`<tr>
<th scope="rowgroup" class="group" colspan="${hosts.size + 1}"><span>${play} · <b>${role}</b></span></th></tr>
`;
  const column = ({ id, name }: ReportedHost) => html`<th scope="col"><a href="#${id}">${name}</a></th>`;
  const groups = groupsOf(rows, ({ play, role }) => [play, role]);
  return html`<section id="tasks"><h2>Tasks</h2>
${rows.length === 0 && html`<p class="muted">No task was reported.</p>`}
<div class="scroll${wide && ' roomy'}" tabindex="0" role="region" aria-label="Tasks by host"><table class="matrix${wide && ' wide'}">
<thead><tr><td></td>${[...hosts.values()].map(column)}</tr></thead>
${groups.map((group) => html`<tbody>${heading(group[0])}${group.map(line)}</tbody>`)}</table></div></section>`;
}

function cellOf(cell: Cell, entry: string | undefined, wide: boolean): Html {
  const { letter } = outcomes[cell.outcome];
  const text = wide ? html`${letter} <span>${outcomeText(cell)}</span>` : html`${letter}`;
  const style = cell.outcome !== 'ok' && html` class="${cell.outcome}"`;
  if (entry === undefined) return html`<td${style}>${text}`;
  return html`<td${style}><a href="#${entry}"${!wide && html` title="${outcomeText(cell)}"`}>${text}</a>`;
}
