/**
 * @typedef {{ title: string, ancestorTitles: string[], status: string, duration?: number, meta: {
 * measured?: string } }} Result as vitest reports it
 */

const mark = '<!-- table -->\n';
const head = '| Fault | Result | Time | Day |\n|---|---|---|---|';

/** The pages with the tables. A suite is on the first whose pattern its title has. */
export const pages = [
  { file: 'docs/faults-input.md', has: /^(Awkward|Hostile|Shell|Dependencies)/ },
  { file: 'docs/faults-storage.md', has: /storage/ },
  { file: 'docs/faults-data.md', has: /snapshot|restore|download|Backups|switch|rewind|Metrics/ },
  { file: 'docs/faults.md', has: /^/ },
];

/**
 * @param {string} file one of the pages
 * @param {readonly Result[]} results
 * @returns {Result[]} those of the suites on this page
 */
export function resultsOn(file, results) {
  return results.filter((result) => pages.find(({ has }) => has.test(suiteOf(result)))?.file === file);
}

/** @param {Result} result @returns {string} the heading of its table */
function suiteOf({ ancestorTitles }) {
  const suite = ancestorTitles.join(', ');
  return `${suite.charAt(0).toUpperCase()}${suite.slice(1)}`;
}

/**
 * Puts results into the tables of a page, below its mark: each suite is a section, each test a
 * row. Rows of tests that did not run now stay.
 *
 * @param {string} page
 * @param {readonly Result[]} results
 * @param {string} day of this run, YYYY-MM-DD
 * @returns {string}
 */
export function withResults(page, results, day) {
  const [before = '', after = ''] = page.split(mark);
  const sections = sectionsOf(after);
  for (const result of results) {
    // A test that could not be run says why; others were not selected.
    const wasRun = result.status === 'passed' || result.status === 'failed';
    if (!wasRun && !result.meta.measured) continue;
    const title = suiteOf(result);
    const rows = sections.get(title) ?? new Map();
    rows.set(cell(result.title), row(result, day));
    sections.set(title, rows);
  }
  const tables = [...sections]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, rows]) => `\n## ${title}\n\n${[head, ...rows.values()].join('\n')}\n`);
  return `${before}${mark}${tables.join('')}`;
}

/**
 * @param {string} text @returns {Map<string, Map<string, string>>} rows by title, and within it by
 * the first cell
 */
function sectionsOf(text) {
  const sections = text.split(/^## /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [title = '', ...lines] = section.split('\n');
      const rows = lines.filter((line) => line.startsWith('| ') && !head.startsWith(line));
      return [title, new Map(rows.map((line) => [line.slice(2).split(' | ', 1)[0] ?? '', line]))];
    }),
  );
}

/** @param {Result} result @param {string} day */
function row({ title, status, duration = 0, meta }, day) {
  const result = [status === 'skipped' ? 'not run' : status, meta.measured].filter(Boolean).join(': ');
  const seconds = (duration / 1000).toFixed(duration < 10_000 ? 1 : 0);
  return `| ${cell(title)} | ${cell(result)} | ${seconds} s | ${day} |`;
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|');
}
