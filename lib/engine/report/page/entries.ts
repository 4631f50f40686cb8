import { seconds } from '../../output/units.ts';
import { countLines, isShort, valueDiff } from '../../resource/diff.ts';
import type { Difference } from '../../resource/resource.ts';
import { spanOf } from '../clock.ts';
import { firstOf } from '../ending.ts';
import { groupsOf } from '../groups.ts';
import { type Html, html } from '../html.ts';
import type { Cell, Entry } from '../matrix.ts';
import { outcomes, type ShownOutcome } from '../outcomes.ts';
import type { ReportData } from '../report-data.ts';

/** Lines of one difference that a report holds. */
const longest = 1000;
/** Tasks listed before the rest is folded. */
const listed = 40;

export function badge(outcome: ShownOutcome): Html {
  const { letter, word } = outcomes[outcome];
  return html`<b class="badge ${outcome}" title="${word}">${letter}</b>`;
}

/**
 * A section with the tasks of these outcomes: the same task of different hosts is in one place.
 */
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

/**
 * A task with all its details, folded: details that fit on a line are visible without opening it.
 */
function foldedTask(entries: readonly [Entry, ...Entry[]], report: ReportData): Html {
  const [{ row, cells }] = entries;
  const { outcome, role, resource } = cells[0];
  const all = entries.flatMap((entry) => entry.cells);
  const plays = new Set(all.map(({ play }) => play));
  const inBrief = entries.length === 1 ? briefOf(cells[0]) : html`<br>in ${entries.length} variants`;
  const hosts = firstOf(all.map(({ host }) => host));
  const title = html`${badge(outcome)} ${role}: <b>${resource}</b> <span class="muted">${hosts}</span>`;
  const variant = ({ id, cells }: Entry) => html`<div class="entry" id="${id}">${timesOf(cells, report)}${
    entries.length > 1 && shortOf(cells[0])
  }${detailsOf(cells[0], cells[0].differences.filter(isLong))}</div>
`;
  return html`<details class="task"><summary>${title}${inBrief}</summary>
<p class="muted">${[...plays].join(', ')} · <a href="#row-${row}">in the matrix</a></p>
${entries.map(variant)}</details>
`;
}

/** Visible without opening: the number of lines of long diffs, the note and the short diffs. */
function briefOf(cell: Cell): Html {
  const long = cell.differences.filter(isLong).flatMap(({ was, wanted }) => valueDiff(was, wanted) ?? []);
  const count = (sign: string) => long.filter((line) => line.startsWith(sign)).length;
  return html`${long.length > 0 && html` <ins>+${count('+')}</ins> <del>−${count('-')}</del>`}${shortOf(cell)}`;
}

function shortOf({ note, differences }: Cell): Html {
  return html`${note !== undefined && html`<br>${noteOf(note)}`}${differences
    .filter((each) => !isLong(each))
    .map((each) => html`<br>${briefDifference(each)}`)}`;
}

/** Error, differences and commands. A note is shown beside the outcome. */
export function detailsOf({ error, commands }: Cell, differences: readonly Difference[]): Html {
  return html`${error !== undefined && errorOf(error)}${differences.map(differenceOf)}${
    commands.length > 0 && html`<p>What would be run:</p><pre>${commands.join('\n')}</pre>`
  }`;
}

/** An error, and separate from it the hint that follows it indented. */
export function errorOf(error: string): Html {
  const lines = error.split('\n');
  const hintFrom = 1 + lines.findLastIndex((line, at) => at === 0 || !line.startsWith('  '));
  const hint = lines.slice(hintFrom).map((line) => line.trim());
  const cause = html`<pre class="error">${lines.slice(0, hintFrom).join('\n')}</pre>`;
  return hint.length > 0 ? html`${cause}<p>${hintOf(hint)}</p>` : cause;
}

/** A note, and on a line of its own the hint that follows it. */
export function noteOf(note: string): Html {
  const [cause = '', ...hint] = note.split('\n');
  return html`${cause}${hint.length > 0 && html`<br>${hintOf(hint)}`}`;
}

function hintOf(lines: readonly string[]): Html {
  return html`<b>Hint:</b> <span class="hint">${lines.join('\n')}</span>`;
}

/** Its time on each host, with a link to the timeline. */
export function timesOf(cells: readonly Cell[], { hosts }: ReportData): Html {
  return html`<ul class="times">${cells.map(
    ({ host, at, seconds: took }) =>
      html`<li><a href="#${hosts.get(host)?.id}">${host}</a> ${spanOf(at, took)}`,
  )}</ul>`;
}

/** `changed 24 s`, without a time that is too short to matter. */
export function outcomeText({ outcome, seconds: took }: Cell): string {
  return `${outcomes[outcome].word}${took >= 0.1 ? ` ${seconds(took)}` : ''}`;
}

function isLong({ was, wanted }: Difference): boolean {
  return !isShort(was) || !isShort(wanted);
}

function briefDifference({ what, was, wanted }: Difference): Html {
  return html`${what}: <del>${was || '(nothing)'}</del> → <ins>${wanted || '(nothing)'}</ins>`;
}

function differenceOf(difference: Difference): Html {
  const { what, was, wanted } = difference;
  const lines = isLong(difference) ? valueDiff(was, wanted) : undefined;
  if (!lines) {
    const shown = isLong(difference)
      ? { what, was: countLines(was), wanted: countLines(wanted) }
      : difference;
    return html`<p>${briefDifference(shown)}</p>`;
  }
  const more = lines.length - longest;
  const shown = lines.slice(0, longest).map(lineOf);
  return html`<p>${what}:</p><pre>${shown}${more > 0 && `… ${more} more lines\n`}</pre>`;
}

function lineOf(line: string): Html {
  if (line.startsWith('+')) return html`<ins>${line}\n</ins>`;
  if (line.startsWith('-')) return html`<del>${line}\n</del>`;
  return html`${line}\n`;
}
