import { button, make } from './dom.mjs';
import { cellAt, detailAt, hostAt, report, signAt } from './report.mjs';
import { outcomes } from './words.mjs';

/**
 * What is left of the report: which cells, and which rows and hosts have any.
 *
 * @typedef {{
 *   narrowed: boolean, cells: Uint8Array, rows: readonly number[], hosts: readonly number[],
 *   has: (row: number, host: number) => boolean,
 * }} View
 */

/** Long enough that typing a word draws once. Milliseconds. */
const typingPause = 120;

const wanted = { host: '', text: '', signs: /** @type {Set<string>} */ (new Set()) };

/**
 * Draws the fields, and tells what is left whenever they change, and once at first.
 *
 * @param {HTMLElement} form
 * @param {(view: View) => void} show
 */
export function drawFilter(form, show) {
  const left = make('output', { class: 'left' });
  const update = () => {
    const view = viewOf();
    clear.hidden = !view.narrowed;
    left.textContent = view.narrowed
      ? `${view.hosts.length} of ${report.hosts.length} hosts, ${view.rows.length} of ${report.rows.length} resources`
      : '';
    show(view);
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(update, typingPause);
  };

  const host = make('input', { type: 'search', list: 'hosts', placeholder: 'Host: rpc-1, db-*', 'aria-label': 'Host' });
  const names = make('datalist', { id: 'hosts' }, ...report.hosts.map(({ name }) => make('option', { value: name })));
  const text = make('input', { type: 'search', placeholder: 'Resource, error, diff', 'aria-label': 'Text' });
  host.addEventListener('input', () => {
    wanted.host = host.value;
    soon();
  });
  text.addEventListener('input', () => {
    wanted.text = text.value;
    soon();
  });
  const chips = outcomes.flatMap(({ sign, letter, word, style, means }) => {
    const count = countOf(sign);
    if (count === 0) return [];
    const badge = make('span', { class: `badge ${style}`, 'aria-hidden': 'true' }, letter);
    const chip = button(
      { class: 'chip', title: means, 'aria-pressed': 'false' },
      () => {
        if (!wanted.signs.delete(sign)) wanted.signs.add(sign);
        chip.setAttribute('aria-pressed', String(wanted.signs.has(sign)));
        update();
      },
      badge,
      `${word} ${count}`,
    );
    return [chip];
  });
  const clear = button(
    { class: 'clear' },
    () => {
      host.value = text.value = wanted.host = wanted.text = '';
      wanted.signs.clear();
      for (const chip of chips) chip.setAttribute('aria-pressed', 'false');
      update();
      text.focus();
    },
    'Show all',
  );
  form.addEventListener('submit', (event) => event.preventDefault());
  form.append(make('div', { class: 'chips' }, ...chips), host, names, text, clear, left);
  update();
}

/** @param {string} sign */
function countOf(sign) {
  return report.outcomes.reduce((sum, row) => sum + row.split(sign).length - 1, 0);
}

/** @returns {View} */
function viewOf() {
  const text = wanted.text.trim().toLowerCase();
  const matches = hostPattern(wanted.host);
  const hits =
    text === ''
      ? undefined
      : new Set(report.texts.flatMap((each, at) => (each.toLowerCase().includes(text) ? at : [])));
  const byCells = hits !== undefined || wanted.signs.size > 0;
  const narrowed = byCells || wanted.host.trim() !== '';
  const width = report.hosts.length;
  const cells = new Uint8Array(report.rows.length * width);
  const rows = new Set();
  const hosts = new Set();
  for (const [host, { name, unreachable }] of report.hosts.entries()) {
    if (!matches(name)) continue;
    const named = text === '' || name.toLowerCase().includes(text);
    const lost = unreachable !== undefined && (wanted.signs.size === 0 || wanted.signs.has('f'));
    if (!byCells || (lost && (named || unreachable.toLowerCase().includes(text)))) hosts.add(host);
    for (let row = 0; row < report.rows.length; row += 1) {
      const sign = signAt(row, host);
      if (sign === ' ' || (wanted.signs.size > 0 && !wanted.signs.has(sign))) continue;
      if (hits && !named && !says(row, host, hits)) continue;
      cells[row * width + host] = 1;
      rows.add(row);
      hosts.add(host);
    }
  }
  return {
    narrowed,
    cells,
    rows: report.rows.flatMap((_, row) => (rows.has(row) ? row : [])),
    hosts: report.hosts.flatMap((_, host) => (hosts.has(host) ? host : [])),
    has: (row, host) => cells[row * width + host] === 1,
  };
}

/**
 * @param {number} row
 * @param {number} host
 * @param {Set<number>} hits places of texts that hold what was asked for
 */
function says(row, host, hits) {
  if (report.rows[row]?.some((place) => hits.has(place))) return true;
  const [, , , note = -1, error = -1, commands = -1, ...differences] = detailAt(row, host) ?? [];
  if (hits.has(note) || hits.has(error) || hits.has(commands)) return true;
  return differences.some((place) => {
    const difference = report.differences[place];
    if (!difference) return false;
    const places = 'lines' in difference ? difference.lines : [difference.was, difference.wanted];
    return hits.has(difference.what) || places.some((line) => hits.has(line));
  });
}

/**
 * Names or parts of them, with * for anything, several by comma or space.
 *
 * @param {string} pattern
 * @returns {(name: string) => boolean}
 */
function hostPattern(pattern) {
  const words = pattern
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  if (words.length === 0) return () => true;
  const tests = words.map((word) => {
    const inside = word.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
    return new RegExp(word.includes('*') ? `^${inside}$` : inside);
  });
  return (name) => tests.some((test) => test.test(name.toLowerCase()));
}

/**
 * The cells of a view that have one of these outcomes, in the order of the rows.
 *
 * @param {View} view
 * @param {string} signs
 */
export function cellsOf(view, signs) {
  return view.rows.flatMap((row) =>
    view.hosts.flatMap((host) => (view.has(row, host) && signs.includes(signAt(row, host)) ? cellAt(row, host) : [])),
  );
}

/** @param {View} view */
export function unreachableIn(view) {
  return view.hosts.map(hostAt).filter((host) => host.unreachable !== undefined);
}
