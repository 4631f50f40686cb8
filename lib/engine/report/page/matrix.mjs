import { openDetails } from './details.mjs';
import { make } from './dom.mjs';
import { cellAt, detailAt, hostAt, report, signAt, textAt } from './report.mjs';
import { duration, outcomes, shownAs } from './words.mjs';

/** @import { View } from './filter.mjs' */

/** So many hosts have room for words; more have a letter each. */
const roomForWords = 8;

/**
 * Resources by hosts. A table as light as can be: one element and one letter a cell, and one listener for all.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawMatrix(section, view) {
  const wide = view.hosts.length <= roomForWords;
  const table = make('table', {
    class: wide ? 'matrix wide' : 'matrix',
    role: 'grid',
    'aria-label': 'Resources by hosts',
  });
  table.append(headOf(view), ...bodiesOf(view, wide));
  listen(table);
  const empty = view.rows.length === 0;
  section.replaceChildren(
    make('h2', {}, 'Resources'),
    empty
      ? make(
          'p',
          { class: 'muted' },
          view.narrowed ? 'None is left by the filter.' : 'Nothing was told of any resource.',
        )
      : make('div', { class: wide ? 'scroll roomy' : 'scroll tall' }, table),
    ...(empty
      ? []
      : [
          make(
            'p',
            { class: 'muted hint' },
            'Click a cell, or go to it with the arrow keys and press Enter, for all that is known of it.',
          ),
        ]),
  );
}

/** @param {View} view */
function headOf(view) {
  const hosts = view.hosts.map((host) => make('th', { scope: 'col' }, make('span', {}, hostAt(host).name)));
  return make('thead', {}, make('tr', {}, make('td', {}), ...hosts));
}

/**
 * @param {View} view
 * @param {boolean} wide
 */
function bodiesOf(view, wide) {
  const blanks = blankCells();
  let group = '';
  /** @type {HTMLElement[]} */
  const bodies = [];
  for (const row of view.rows) {
    const [play = -1, role = -1, resource = -1] = report.rows[row] ?? [];
    const title = `${textAt(play)} · ${textAt(role)}`;
    if (title !== group) {
      group = title;
      const words = make('span', {}, make('span', { class: 'muted' }, `${textAt(play)} · `), textAt(role));
      const heading = make('th', { scope: 'rowgroup', class: 'group', colspan: view.hosts.length + 1 }, words);
      bodies.push(make('tbody', {}, make('tr', {}, heading)));
    }
    const line = make('tr', {}, make('th', { scope: 'row', title: textAt(resource) }, textAt(resource)));
    for (const host of view.hosts) line.append(cellOf(row, host, view, wide, blanks));
    bodies.at(-1)?.append(line);
  }
  return bodies;
}

/** @returns {Map<string, HTMLTableCellElement>} a cell of each outcome: a copy costs less than a new one */
function blankCells() {
  const signs = [...outcomes.map(({ sign }) => sign), ' '];
  return new Map(
    signs.map((sign) => {
      const { letter, style } = shownAs(sign);
      return [sign, make('td', { class: style, tabindex: -1 }, letter)];
    }),
  );
}

/**
 * @param {number} row
 * @param {number} host
 * @param {View} view
 * @param {boolean} wide
 * @param {Map<string, HTMLTableCellElement>} blanks
 */
function cellOf(row, host, view, wide, blanks) {
  const sign = signAt(row, host);
  const cell = /** @type {HTMLTableCellElement} */ ((blanks.get(sign) ?? make('td')).cloneNode(true));
  if (sign === ' ') cell.removeAttribute('tabindex');
  else cell.dataset.cell = `${row} ${host}`;
  if (view.narrowed && !view.has(row, host)) cell.classList.add('dim');
  if (wide && sign !== ' ') {
    const [, , seconds = 0] = detailAt(row, host) ?? [];
    cell.append(
      make('span', {}, sign === 'o' ? 'ok' : shownAs(sign).word, seconds >= 0.1 ? ` ${duration(seconds)}` : ''),
    );
  }
  return cell;
}

/** @param {HTMLTableElement} table */
function listen(table) {
  const cells = /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll('td[data-cell]'));
  const first = [...cells].find((cell) => cell.classList.contains('failed')) ?? cells[0];
  if (first) first.tabIndex = 0;
  table.addEventListener('click', (event) => open(event.target));
  for (const kind of ['mouseover', 'focusin']) table.addEventListener(kind, ({ target }) => describe(target));
  table.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      open(event.target);
    } else if (move(event.target, event.key)) event.preventDefault();
  });
}

/**
 * @param {EventTarget | null} target
 * @returns {{ element: HTMLElement, row: number, host: number } | undefined}
 */
function placeOf(target) {
  const element =
    target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest('td[data-cell]')) : null;
  const [row, host] = (element?.dataset.cell ?? '').split(' ').map(Number);
  return element && row !== undefined && host !== undefined ? { element, row, host } : undefined;
}

/** @param {EventTarget | null} target */
function open(target) {
  const place = placeOf(target);
  if (!place) return;
  focusOn(place.element);
  openDetails(place.row, place.host);
}

/** Says in words what a letter stands for, once somebody comes to it. @param {EventTarget | null} target */
function describe(target) {
  const place = placeOf(target);
  if (place === undefined || place.element.title !== '') return;
  const { hostName, role, resource, sign } = cellAt(place.row, place.host);
  const words = `${hostName}, ${role}: ${resource}: ${shownAs(sign).word}`;
  place.element.title = words;
  place.element.setAttribute('aria-label', words);
}

/**
 * @param {EventTarget | null} target
 * @param {string} key
 * @returns {boolean} whether the key moves
 */
function move(target, key) {
  const element = placeOf(target)?.element;
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
  const line = element?.closest('tr');
  const table = element?.closest('table');
  if (!element || !step || !line || !table) return false;
  const [down = 0, right = 0] = step;
  const lines = [...table.rows];
  let at = lines.indexOf(line);
  let column = /** @type {HTMLTableCellElement} */ (element).cellIndex;
  for (;;) {
    at += down;
    column += right;
    const next = lines[at]?.cells[column];
    if (at < 0 || column < 0 || (!next && (right !== 0 || at >= lines.length))) return true;
    if (next?.dataset.cell === undefined) continue;
    focusOn(next);
    return true;
  }
}

/** One cell of the table is in the order of the tabulator key: the one that was come to last. @param {HTMLElement} cell */
function focusOn(cell) {
  for (const other of cell.closest('table')?.querySelectorAll('td[tabindex="0"]') ?? [])
    other.setAttribute('tabindex', '-1');
  cell.tabIndex = 0;
  cell.focus();
}
