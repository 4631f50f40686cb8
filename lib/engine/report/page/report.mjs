import { part } from './dom.mjs';

/** @import { ReportData, ReportedHost } from '../report-data.ts' */
/** @import { Detail, ShownDifference } from '../matrix.ts' */

/** @type {ReportData} */
export const report = JSON.parse(part('data').textContent ?? '');

/**
 * One resource on one host.
 *
 * @typedef {{
 *   row: number, host: number, sign: string, play: string, role: string, resource: string, hostName: string,
 *   at: number | undefined, seconds: number, note: string, error: string, commands: string, differences: readonly ShownDifference[], alike: string,
 * }} Cell
 */

/** @type {Map<number, Detail>} */
const detailsByCell = new Map(report.details.map((detail) => [detail[0], detail]));

/** @param {number} place in the table of texts */
export function textAt(place) {
  return report.texts[place] ?? '';
}

/**
 * @param {number} row
 * @param {number} host
 */
export function signAt(row, host) {
  return report.outcomes[row]?.[host] ?? ' ';
}

/**
 * @param {number} row
 * @param {number} host
 * @returns {Detail | undefined}
 */
export function detailAt(row, host) {
  return detailsByCell.get(row * report.hosts.length + host);
}

/**
 * @param {number} row
 * @param {number} host
 * @returns {Cell}
 */
export function cellAt(row, host) {
  const [play = -1, role = -1, resource = -1] = report.rows[row] ?? [];
  const [, at, seconds = 0, note = -1, error = -1, commands = -1, ...differences] = detailAt(row, host) ?? [];
  const sign = signAt(row, host);
  return {
    row,
    host,
    sign,
    play: textAt(play),
    role: textAt(role),
    resource: textAt(resource),
    hostName: hostAt(host).name,
    at,
    seconds,
    note: textAt(note),
    error: textAt(error),
    commands: textAt(commands),
    differences: differences.flatMap((place) => report.differences[place] ?? []),
    alike: [sign, role, resource, note, error, commands, ...differences].join(),
  };
}

/** @param {number} host */
export function hostAt(host) {
  return /** @type {ReportedHost} */ (report.hosts[host]);
}

/**
 * Cells that say the same of several hosts, as one.
 *
 * @param {readonly Cell[]} cells
 * @returns {Cell[][]}
 */
export function alike(cells) {
  /** @type {Map<string, Cell[]>} */
  const groups = new Map();
  for (const cell of cells) {
    const group = groups.get(cell.alike);
    if (group) group.push(cell);
    else groups.set(cell.alike, [cell]);
  }
  return [...groups.values()];
}
