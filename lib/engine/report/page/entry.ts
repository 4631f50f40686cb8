import { seconds } from '../../output/units.ts';
import { countLines, isShort, textDiff } from '../../resource/diff.ts';
import type { Difference } from '../../resource/resource.ts';
import { spanOf } from '../clock.ts';
import { type Html, html } from '../html.ts';
import type { Cell, Entry } from '../matrix.ts';
import { outcomes, type ShownOutcome } from '../outcomes.ts';
import type { ReportData } from '../report-data.ts';

/** Hosts named in one line; all are listed with their times. */
const hostsNamed = 4;
/** Lines of one difference that a report holds. */
const longest = 1000;
/** A longer text scrolls by itself. Lines. */
const tallest = 30;

export function badge(outcome: ShownOutcome): Html {
  const { letter, word } = outcomes[outcome];
  return html`<b class="badge ${outcome}" title="${word}">${letter}</b>`;
}

/** A task with all that is known of it, folded: what fits on a line is read without opening it. */
export function foldedTask(entries: readonly [Entry, ...Entry[]], report: ReportData): Html {
  const [{ row, cells }] = entries;
  const { outcome, role, resource } = cells[0];
  const all = entries.flatMap((entry) => entry.cells);
  const plays = new Set(all.map(({ play }) => play));
  const inBrief = entries.length === 1 ? briefOf(cells[0]) : html`<br>in ${entries.length} variants`;
  const title = html`${badge(outcome)} ${role}: <b>${resource}</b> <span class="muted">${namesOf(all)}</span>`;
  const variant = ({ id, cells }: Entry) => html`<div class="entry" id="${id}">${timesOf(cells, report)}${
    entries.length > 1 && shortOf(cells[0])
  }${detailsOf(cells[0], cells[0].differences.filter(isLong))}</div>
`;
  return html`<details class="task"><summary>${title}${inBrief}</summary>
<p class="muted">${[...plays].join(', ')} · <a href="#row-${row}">in the matrix</a></p>
${entries.map(variant)}</details>
`;
}

/** What is read without opening: how many lines the long differences have, the note and the short differences. */
function briefOf(cell: Cell): Html {
  const long = cell.differences.filter(isLong).flatMap(({ was, wanted }) => textDiff(was, wanted) ?? []);
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
    commands.length > 0 && html`<p>What would be run:</p>${block(commands.length, html`${commands.join('\n')}`)}`
  }`;
}

/** An error, and apart from it the hint that follows it indented. */
export function errorOf(error: string): Html {
  const lines = error.split('\n');
  const hintFrom = 1 + lines.findLastIndex((line, at) => at === 0 || !line.startsWith('  '));
  const hint = lines.slice(hintFrom).map((line) => line.trim());
  return html`<pre class="error">${lines.slice(0, hintFrom).join('\n')}</pre>${hint.length > 0 && html`<p>${hintOf(hint)}</p>`}`;
}

/** A note, and on a line of its own the hint that follows it. */
export function noteOf(note: string): Html {
  const [cause = '', ...hint] = note.split('\n');
  return html`${cause}${hint.length > 0 && html`<br>${hintOf(hint)}`}`;
}

function hintOf(lines: readonly string[]): Html {
  return html`<b>Hint:</b> <span class="hint">${lines.join('\n')}</span>`;
}

/** When it was on each host, with a link to the timeline. */
export function timesOf(cells: readonly Cell[], { hosts }: ReportData): Html {
  return html`<ul class="times">${cells.map(
    ({ host, at, seconds: took }) => html`<li><a href="#${hosts.get(host)?.id}">${host}</a> ${spanOf(at, took)}`,
  )}</ul>`;
}

/** `changed 24 s`, without a time that is too short to matter. */
export function outcomeText({ outcome, seconds: took }: Cell): string {
  return `${outcomes[outcome].word}${took >= 0.1 ? ` ${seconds(took)}` : ''}`;
}

function namesOf(cells: readonly Cell[]): string {
  const names = cells.slice(0, hostsNamed).map(({ host }) => host);
  return `${names.join(', ')}${cells.length > hostsNamed ? ` and ${cells.length - hostsNamed} more` : ''}`;
}

function isLong({ was, wanted }: Difference): boolean {
  return !isShort(was) || !isShort(wanted);
}

function briefDifference({ what, was, wanted }: Difference): Html {
  return html`${what}: <del>${was || '(nothing)'}</del> → <ins>${wanted || '(nothing)'}</ins>`;
}

function differenceOf(difference: Difference): Html {
  const { what, was, wanted } = difference;
  const lines = isLong(difference) ? textDiff(was, wanted) : undefined;
  if (!lines) {
    const shown = isLong(difference) ? { what, was: countLines(was), wanted: countLines(wanted) } : difference;
    return html`<p>${briefDifference(shown)}</p>`;
  }
  const more = lines.length - longest;
  const shown = lines.slice(0, longest).map(lineOf);
  return html`<p>${what}:</p>${block(lines.length, html`${shown}${more > 0 && `… ${more} more lines\n`}`)}`;
}

function lineOf(line: string): Html {
  if (line.startsWith('+')) return html`<ins>${line}\n</ins>`;
  if (line.startsWith('-')) return html`<del>${line}\n</del>`;
  return html`${line}\n`;
}

function block(lines: number, content: Html): Html {
  return html`<pre${lines > tallest && html` tabindex="0"`}>${content}</pre>`;
}
