import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { resultsPage, spread } from './page.ts';
import { writeSummary } from './summary.ts';
import { type Case, type ToolName, tools } from './tools.ts';

/** The costs of one tool's runs, in the order of the rounds. */
export interface Measured {
  readonly wall: readonly number[];
  readonly cpu: readonly number[];
  /** Bytes. */
  readonly memory: number;
}

/** One case for a number of hosts and a latency, measured in one run, in turn. */
export interface Result {
  readonly hosts: number;
  readonly delay: number;
  readonly case: Case;
  readonly date: string;
  readonly machine: string;
  readonly versions: readonly string[];
  readonly tools: Partial<Record<ToolName, Measured>>;
  /** Requested tools that could not be measured, and why. */
  readonly missing: Partial<Record<ToolName, string>>;
}

const resultsFile = fileURLToPath(new URL('results.json', import.meta.url));
const mark = '<!-- results -->\n';

/** All results that were saved. */
export const savedResults = (): Result[] =>
  existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : [];

/** The tables of all results, in Markdown. */
export const tablesOf = (all: readonly Result[]): string => all.map(section).join('');

/** Replaces earlier results of the same case, and writes the tables. */
export function saveResult(result: Result): void {
  const earlier = savedResults();
  const id = ({ hosts, delay, case: what }: Result) => `${hosts} ${delay} ${what}`;
  const all = [...earlier.filter((each) => id(each) !== id(result)), result].sort(
    (a, b) => a.hosts - b.hosts || a.delay - b.delay || order.indexOf(a.case) - order.indexOf(b.case),
  );
  writeFileSync(resultsFile, `${JSON.stringify(all, undefined, 1)}\n`);
  writeSummary(all);
  const [before = ''] = readFileSync(resultsPage, 'utf8').split(mark);
  writeFileSync(resultsPage, `${before}${mark}${tablesOf(all)}`);
}

const order: readonly Case[] = ['noop', 'check', 'first', 'change'];

const titles: Record<Case, string> = {
  noop: 'nothing to do',
  check: 'check with diff, one file differs',
  first: 'first run, nothing there but packages',
  change: 'one file changes',
};

function section(result: Result): string {
  const { hosts, delay, date, machine, versions } = result;
  const rows = (Object.keys(tools) as ToolName[]).flatMap((name) => row(name, result));
  const rounds = Math.max(...Object.values(result.tools).map(({ wall }) => wall.length));
  return `
## ${hosts} ${hosts === 1 ? 'host' : 'hosts'}, ${delay} ms: ${titles[result.case]}

| | wall, s | times ours | processor, s | times ours | peak MB |
|---|---|---|---|---|---|
${rows.join('\n')}

${date}, ${rounds} rounds. ${machine}. ${versions.join(', ')}.
`;
}

function row(name: ToolName, { tools: measured, missing, case: what }: Result): string[] {
  const { title, cases } = tools[name];
  if (!(cases as readonly Case[]).includes(what)) return [];
  const own = measured[name];
  if (!own)
    return missing[name] === undefined ? [] : [`| ${title} | not measured: ${missing[name]} | | | | |`];
  const { ours } = measured;
  const times = (key: 'wall' | 'cpu') =>
    ours && name !== 'ours' ? ratio(own[key].map((value, at) => value / (ours[key][at] ?? Number.NaN))) : '';
  const cells = [
    seconds(own.wall),
    times('wall'),
    seconds(own.cpu),
    times('cpu'),
    (own.memory / 2 ** 20).toFixed(0),
  ];
  return [`| ${title} | ${cells.join(' | ')} |`];
}

const seconds = (values: readonly number[]): string =>
  spread(values, (value) => (value < 10 ? value.toFixed(2) : value.toFixed(1)));

const ratio = (values: readonly number[]): string =>
  spread(values, (value) => (value < 10 ? value.toFixed(1) : value.toFixed(0)));
