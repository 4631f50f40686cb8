import { basename } from 'node:path';

/**
 * @typedef {{ title: string, ancestorTitles: string[], status: string, duration?: number, meta: {
 * measured?: string }, file: string }} Result as vitest reports it, with its file
 * @typedef {{ day: string, commit: string, seed: string, machine: string }} Run what the results
 * of one run have in common: YYYY-MM-DD, the short hash of the code, the seed of random faults, and
 * the machine in words
 */

const mark = '<!-- table -->\n';
const head = '| Fault | Result | Time | Last run |\n|---|---|---|---|';
const runsTitle = 'Runs';
const runsHead = '| Run | Seed | Machine |\n|---|---|---|';
const notRun = 'not run';

/** The pages with the tables. A suite is on the first whose pattern its title has. */
export const pages = [
  { file: 'docs/faults-gateway.md', has: /^(A gateway under load|Certificates by ACME)/ },
  { file: 'docs/faults-input.md', has: /^(Awkward|Hostile|Shell|Dependencies)/ },
  { file: 'docs/faults-storage.md', has: /storage/ },
  { file: 'docs/faults-snapshots.md', has: /^A physical snapshot/ },
  {
    file: 'docs/faults-data.md',
    has: /[Ss]napshot|restore|download|Backups|switch|[Rr]ewind|Physical/,
  },
  {
    file: 'docs/faults-hosts.md',
    has: /disk|[Ee]ngine|Docker's data|restart|firewall|Surroundings|host goes|hundred|Metrics/,
  },
  { file: 'docs/faults.md', has: /^/ },
];

/** Files of test/faults that cause no fault. */
const others = /\/results-page\.test\.ts$/;

/**
 * @param {string} file one of the pages
 * @param {string} suite the heading of a table
 * @returns {boolean} whether the table is on this page
 */
function isOn(file, suite) {
  return pages.find(({ has }) => has.test(suite))?.file === file;
}

/**
 * The heading of a test's table.
 *
 * @param {readonly string[]} titles of the suites around the test
 * @param {string} file where no suite is around it, the name of its file is the heading
 */
function suiteOf(titles, file) {
  const suite = titles.join(', ') || basename(file, '.test.ts').replaceAll('-', ' ');
  return `${suite.charAt(0).toUpperCase()}${suite.slice(1)}`;
}

/**
 * The tests that cause faults, as suite and title.
 *
 * @param {readonly { name: string, file: string }[]} listed by `vitest list --json`: a name is
 * `SUITE > TITLE`
 */
export function faultTests(listed) {
  return listed
    .filter(({ file }) => !others.test(file))
    .map(({ name, file }) => {
      const titles = name.split(' > ');
      const title = titles.pop() ?? '';
      return { suite: suiteOf(titles, file), title };
    });
}

/**
 * Puts results into the tables of a page, below its mark: each suite is a section, each test a
 * row. Rows of tests that did not run now stay. A test that never ran gets a row that says so. A
 * row without a test goes, and so does a run without a row.
 *
 * @param {string} page its text
 * @param {string} file its path in the project
 * @param {readonly Result[]} results
 * @param {readonly { suite: string, title: string }[]} tests all that there are
 * @param {Run} run
 * @returns {string}
 */
export function withResults(page, file, results, tests, run) {
  const [before = '', after = ''] = page.split(mark);
  const sections = sectionsOf(after);
  const former = sections.get(runsTitle);
  /** @type {Map<string, string>} */
  const rows = new Map();
  for (const [suite, lines] of sections)
    for (const [title, line] of lines) rows.set(`${suite}\n${title}`, line);
  for (const result of results) {
    // A test that could not be run says why; others were not selected.
    const wasRun = result.status === 'passed' || result.status === 'failed';
    if (!wasRun && !result.meta.measured) continue;
    rows.set(`${suiteOf(result.ancestorTitles, result.file)}\n${cell(result.title)}`, row(result, run));
  }
  /** @type {Map<string, string[]>} */
  const tables = new Map();
  for (const { suite, title } of tests) {
    if (!isOn(file, suite)) continue;
    const line = rows.get(`${suite}\n${cell(title)}`) ?? `| ${cell(title)} | ${notRun} | | |`;
    tables.set(suite, [...(tables.get(suite) ?? []), line]);
  }
  const text = [...tables]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, lines]) => `\n## ${title}\n\n${[head, ...lines].join('\n')}\n`)
    .join('');
  const known = new Map([...(former ?? []), [nameOf(run), runRow(run)]]);
  const used = [...known].filter(([name]) => text.includes(` | ${name} |\n`));
  const runs = used.map(([, line]) => line).sort();
  return `${before}${mark}${text}\n## ${runsTitle}\n\n${[runsHead, ...runs].join('\n')}\n`;
}

/**
 * @param {string} page its text
 * @returns {{ suite: string, title: string }[]} the tests that have a row
 */
export function rowsOf(page) {
  const sections = sectionsOf(page.split(mark)[1] ?? '');
  sections.delete(runsTitle);
  return [...sections].flatMap(([suite, rows]) => [...rows.keys()].map((title) => ({ suite, title })));
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
      const rows = lines.filter((line) => line.startsWith('| ')).slice(1);
      return [title, new Map(rows.map((line) => [line.slice(2).split(' | ', 1)[0] ?? '', line]))];
    }),
  );
}

/** @param {Result} result @param {Run} run */
function row({ title, status, duration = 0, meta }, run) {
  const result = [status === 'skipped' ? notRun : status, meta.measured].filter(Boolean).join(': ');
  const seconds = (duration / 1000).toFixed(duration < 10_000 ? 1 : 0);
  return `| ${cell(title)} | ${cell(result)} | ${seconds} s | ${nameOf(run)} |`;
}

/** @param {Run} run */
function nameOf({ day, commit }) {
  return `${day} ${commit}`;
}

/** @param {Run} run */
function runRow(run) {
  return `| ${nameOf(run)} | ${run.seed} | ${cell(run.machine)} |`;
}

/** @param {string} text @returns {string} one line, as a cell of a table holds it */
function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
