import { make } from './dom.mjs';
import { hostAt, report } from './report.mjs';
import { duration } from './words.mjs';

/** @import { ReportedHost } from '../report-data.ts' */
/** @import { View } from './filter.mjs' */

/** @type {readonly (readonly [title: string, outcome: string, style: string])[]} */
const columns = [
  ['ok', 'ok', ''],
  report.run.check ? ['pending', 'pending', 'pending'] : ['changed', 'changed', 'changed'],
  ['unknown', 'unknown', 'unknown'],
  ['warnings', 'warning', 'warning'],
  ['failed', 'failed', 'failed'],
];

/**
 * One line a host, the worst first, as the terminal's summary.
 *
 * @param {HTMLElement} section
 * @param {View} view
 */
export function drawTotals(section, view) {
  const hosts = view.hosts.map(hostAt).sort((a, b) => badness(b) - badness(a));
  const head = ['host', ...columns.map(([title]) => title), 'time', 'round trips', ''];
  const table = make(
    'table',
    { class: 'totals' },
    make('thead', {}, make('tr', {}, ...head.map((title) => make('th', { scope: 'col' }, title)))),
    make('tbody', {}, ...hosts.map(hostLine)),
    hosts.length > 1 ? make('tfoot', {}, sumLine(hosts)) : undefined,
  );
  section.replaceChildren(
    make('h2', {}, 'Hosts'),
    make('div', { class: 'scroll half', tabindex: 0, role: 'region', 'aria-label': 'Hosts' }, table),
  );
}

/** @param {ReportedHost} host */
function badness({ unreachable, counts, stopped }) {
  if (unreachable !== undefined) return 3;
  return (counts.failed ?? 0) > 0 ? 2 : stopped === undefined ? 0 : 1;
}

/** @param {ReportedHost} host */
function hostLine(host) {
  const { name, counts, seconds, roundTrips, unreachable } = host;
  return make(
    'tr',
    {},
    make('th', { scope: 'row', class: badness(host) > 0 ? 'bad' : '' }, name),
    ...columns.map(([, outcome, style]) => number(counts[outcome] ?? 0, style)),
    make('td', {}, seconds === undefined ? '–' : duration(seconds)),
    make('td', {}, roundTrips ?? '–'),
    make('td', { class: 'why' }, unreachable === undefined ? leftOf(host) : 'unreachable'),
  );
}

/** Why it stopped and what is left there. @param {ReportedHost} host */
function leftOf({ stopped, left, next }) {
  if (stopped === undefined) return '';
  return left === undefined ? stopped : `${stopped}; ${left} left${next === undefined ? '' : `, next: ${next}`}`;
}

/** @param {readonly ReportedHost[]} hosts */
function sumLine(hosts) {
  const sum = (/** @type {(host: ReportedHost) => number} */ of) => hosts.reduce((total, host) => total + of(host), 0);
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, `${hosts.length} hosts`),
    ...columns.map(([, outcome]) =>
      number(
        sum(({ counts }) => counts[outcome] ?? 0),
        '',
      ),
    ),
    make('td', {}, duration(report.run.length / 1000)),
    make('td', {}, sum(({ roundTrips }) => roundTrips ?? 0) || '–'),
    make('td', {}),
  );
}

/**
 * @param {number} count
 * @param {string} style
 */
function number(count, style) {
  return make('td', { class: count > 0 && style !== '' ? `some ${style}` : count === 0 ? 'zero' : '' }, count);
}
