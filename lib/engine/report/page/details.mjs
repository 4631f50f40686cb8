import { button, firstOf, make, part } from './dom.mjs';
import { cellAt, report, signAt, textAt } from './report.mjs';
import { clock, duration, shownAs } from './words.mjs';

/** @import { ShownDifference } from '../matrix.ts' */
/** @import { Cell } from './report.mjs' */

/**
 * The letter of an outcome in its colour.
 *
 * @param {string} sign
 */
export function badge(sign) {
  const { letter, word, style } = shownAs(sign);
  return make('span', { class: `badge ${style}`, role: 'img', 'aria-label': word }, letter);
}

/**
 * Opens all that is known of one resource on one host. Closing it gives the focus back.
 *
 * @param {number} row
 * @param {number} host
 */
export function openDetails(row, host) {
  const dialog = /** @type {HTMLDialogElement} */ (part('details'));
  const cell = cellAt(row, host);
  const { word, means } = shownAs(cell.sign);
  const close = button({ class: 'close', 'aria-label': 'Close', title: 'Close (Esc)' }, () => dialog.close(), '×');
  const outcome = make(
    'span',
    {},
    badge(cell.sign),
    ` ${word}`,
    word === means ? undefined : make('span', { class: 'muted' }, `: ${means}`),
  );
  dialog.replaceChildren(
    make('div', { class: 'details-head' }, make('h2', { id: 'details-title' }, cell.resource), close),
    facts([
      ['host', make('strong', {}, cell.hostName)],
      ['outcome', outcome],
      ['role', cell.role],
      ['play', cell.play],
      ['time', timeOf(cell)],
    ]),
    ...saidOf(cell),
    ...elsewhere(row, host),
  );
  if (!dialog.open) dialog.showModal();
  close.focus();
  dialog.scrollTop = 0;
}

/** A click beside the dialog closes it. */
export function closeByClickBeside() {
  const dialog = /** @type {HTMLDialogElement} */ (part('details'));
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
}

/**
 * Note, error and differences of a cell.
 *
 * @param {Cell} cell
 * @returns {HTMLElement[]}
 */
export function saidOf(cell) {
  return [
    ...(cell.note === '' ? [] : [make('p', { class: 'note' }, cell.note)]),
    ...(cell.error === '' ? [] : [errorOf(cell.error)]),
    ...cell.differences.map(differenceOf),
    ...(cell.commands === '' ? [] : [make('p', {}, 'What would be run:'), make('pre', { tabindex: 0 }, cell.commands)]),
  ];
}

/**
 * An error, with what follows it indented, mostly what to do, made to stand out.
 *
 * @param {string} error
 */
export function errorOf(error) {
  const lines = error.split('\n');
  const cause = 1 + lines.findLastIndex((line, at) => at === 0 || !line.startsWith('  '));
  const after = lines.slice(cause).map((line) => `\n${line}`);
  return make('pre', { class: 'error', tabindex: 0 }, lines.slice(0, cause).join('\n'), make('strong', {}, ...after));
}

/** @param {Cell} cell */
export function timeOf({ at, seconds, sign }) {
  if (at === undefined) return sign === '-' ? '' : 'looked at, nothing done';
  const end = clock(report.run.start + at);
  if (seconds === 0) return `${end} UTC`;
  const begin = clock(report.run.start + at - seconds * 1000);
  return `${begin} to ${end} UTC (${duration(seconds)})`;
}

/**
 * @param {ShownDifference} difference
 * @returns {HTMLElement}
 */
export function differenceOf(difference) {
  if (!('lines' in difference)) {
    return make(
      'p',
      { class: 'difference' },
      `${textAt(difference.what)}: `,
      make('del', {}, textAt(difference.was) || '(nothing)'),
      ' → ',
      make('ins', {}, textAt(difference.wanted) || '(nothing)'),
    );
  }
  const lines = difference.lines.map((place) => {
    const line = textAt(place);
    return make('span', { class: lineStyles[line[0] ?? ' '] ?? '' }, `${line}\n`);
  });
  const rest = difference.more > 0 ? make('span', { class: 'place' }, `… ${difference.more} more lines\n`) : undefined;
  return make(
    'div',
    { class: 'difference' },
    make('p', {}, `${textAt(difference.what)}:`),
    make('pre', { class: 'diff', tabindex: 0 }, ...lines, rest),
  );
}

/** @type {Record<string, string>} */
const lineStyles = { '+': 'added', '-': 'removed', '@': 'place' };

/**
 * @param {readonly (readonly [string, string | Node])[]} pairs
 */
function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== '');
  return make('dl', {}, ...shown.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

/**
 * How the same resource ended on other hosts.
 *
 * @param {number} row
 * @param {number} host
 */
function elsewhere(row, host) {
  const others = report.hosts.flatMap((_, other) => (other !== host && signAt(row, other) !== ' ' ? other : []));
  if (others.length === 0) return [];
  const draw = (/** @type {number} */ other) => {
    const cell = cellAt(row, other);
    return button({ class: 'host' }, () => openDetails(row, other), badge(cell.sign), ` ${cell.hostName}`);
  };
  return [make('h3', {}, 'On other hosts'), make('div', { class: 'hosts' }, firstOf(others, draw, 120))];
}
