import { badge, differenceOf, openDetails, saidOf } from './details.mjs';
import { button, firstOf, make } from './dom.mjs';
import { cellsOf } from './filter.mjs';
import { alike, report } from './report.mjs';

/** @import { View } from './filter.mjs' */
/** @import { Cell } from './report.mjs' */

/** So few are shown open at once. */
const openAtFirst = 8;
/** Hosts that are named in one line. */
const hostsNamed = 6;

/**
 * What was changed, or would be, with its differences.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawChanges(section, view) {
  const groups = alike(cellsOf(view, 'cp'));
  drawGroups(section, report.run.check ? 'Pending changes' : 'Changes', groups, view);
}

/**
 * What should hold and does not, and what cannot be told yet.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawWarnings(section, view) {
  drawGroups(section, 'Warnings and unknown', alike(cellsOf(view, 'wu*')), view);
}

/**
 * @param {HTMLElement} section
 * @param {string} title
 * @param {Cell[][]} groups
 * @param {View} view
 */
function drawGroups(section, title, groups, view) {
  const open = groups.length <= openAtFirst;
  section.replaceChildren(
    make('h2', {}, title),
    groups.length === 0
      ? make('p', { class: 'muted' }, view.narrowed ? 'None among what is shown.' : 'None.')
      : firstOf(groups, (group) => groupOf(group, open)),
  );
}

/**
 * @param {Cell[]} group the same on several hosts
 * @param {boolean} open
 */
function groupOf(group, open) {
  const [first] = group;
  if (!first) return make('p');
  const { row, sign, role, resource, note, error, commands, differences } = first;
  const hosts = group.map(({ host, hostName }) => button({ class: 'host' }, () => openDetails(row, host), hostName));
  const title = [badge(sign), make('span', { class: 'what' }, `${role}: ${resource}`)];
  const where = make(
    'span',
    { class: 'where' },
    firstOf(hosts, (host) => host, hostsNamed),
  );
  // What fits on a line is read at once and needs no opening.
  const short =
    differences.length <= 1 &&
    differences.every((difference) => !('lines' in difference)) &&
    !`${note}${error}`.includes('\n') &&
    commands === '';
  if (short) {
    const said = note === '' ? undefined : make('span', { class: 'muted' }, ` ${note}`);
    return make(
      'div',
      { class: 'change' },
      make('div', { class: 'change-head' }, ...title, where),
      said,
      ...differences.map(differenceOf),
    );
  }
  const details = make(
    'details',
    { class: 'change' },
    make('summary', { class: 'change-head' }, ...title, where, sizeOf(first)),
  );
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(...saidOf(first));
  };
  details.addEventListener('toggle', fill);
  details.open = open;
  fill();
  return details;
}

/** Lines that came and went. @param {Cell} cell */
function sizeOf({ differences }) {
  const lines = differences.flatMap((difference) => ('lines' in difference ? [difference] : []));
  if (lines.length === 0) return undefined;
  const count = (/** @type {string} */ sign) =>
    lines.reduce(
      (sum, { lines: places }) => sum + places.filter((place) => report.texts[place]?.startsWith(sign)).length,
      0,
    );
  return make('span', { class: 'size' }, make('ins', {}, `+${count('+')}`), ' ', make('del', {}, `−${count('-')}`));
}

// All is printed: what is folded on the screen is opened for paper.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
