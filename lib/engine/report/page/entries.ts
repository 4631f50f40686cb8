import { groupsOf } from '../groups.ts';
import { type Html, html } from '../html.ts';
import type { Entry } from '../matrix.ts';
import type { ShownOutcome } from '../outcomes.ts';
import type { ReportData } from '../report-data.ts';
import { foldedTask } from './entry.ts';

/** Tasks listed before the rest is folded. */
const listed = 40;

/** A section with the tasks of these outcomes: what is said of one task on different hosts is in one place. */
export function entriesSection(
  id: string,
  title: string,
  wanted: readonly ShownOutcome[],
  report: ReportData,
  entries: readonly Entry[],
): Html {
  const all = entries.filter(({ cells: [{ outcome }] }) => wanted.includes(outcome));
  const tasks = groupsOf(all, ({ cells: [{ outcome, role, resource }] }) => [outcome, role, resource]);
  const shown = tasks.map((task) => foldedTask(task, report));
  const rest = shown.slice(listed);
  return html`<section id="${id}"><h2>${title}</h2>
${all.length === 0 && html`<p class="muted">None.</p>`}${shown.slice(0, listed)}${
  rest.length > 0 && html`<details class="more"><summary>${rest.length} more</summary>${rest}</details>`
}</section>`;
}
