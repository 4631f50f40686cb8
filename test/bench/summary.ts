import { writeFileSync } from 'node:fs';
import { median, putSection } from './page.ts';
import { type Line, svg } from './plot.ts';
import type { Result } from './results.ts';
import { type Case, type ToolName, tools } from './tools.ts';

/** The questions of the first table: hosts, milliseconds, case. */
const questions: readonly (readonly [title: string, hosts: number, delay: number, what: Case])[] = [
  ['nothing to do', 1, 0, 'noop'],
  ['the same, servers 100 ms away', 1, 100, 'noop'],
  ['the same, 10 servers', 10, 0, 'noop'],
  ['check with diff', 1, 0, 'check'],
  ['one file changes', 1, 0, 'change'],
  ['first run', 1, 0, 'first'],
  ['first run, server 100 ms away', 1, 100, 'first'],
  ['first run, 10 servers', 10, 0, 'first'],
];

const compared: readonly ToolName[] = ['ours', 'ansible', 'mitogen', 'pyinfra', 'floor'];
/** Distinct also for colour-blind readers (the palette of Okabe and Ito). */
const colours = ['#0072b2', '#d55e00', '#cc79a7', '#009e73', '#767676'];
const folder = new URL('../../docs/images/', import.meta.url);

/** The table of ratios, in Markdown. */
export function summaryOf(results: readonly Result[]): string {
  const rows = questions.flatMap(([title, hosts, delay, what]) => {
    const found = results.find((each) => each.hosts === hosts && each.delay === delay && each.case === what);
    if (!found) return [];
    const cells = compared.map((tool) => (tool === 'ours' ? secondsOf(found, tool) : ratioOf(found, tool)));
    return [`| ${title} | ${cells.join(' | ')} |`];
  });
  const heads = compared.map((tool) =>
    tool === 'ours' ? 'rpc-playbooks, seconds' : `${shortTitle(tool)}, times ours`,
  );
  return [`| | ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length + 1)}`, ...rows, ''].join('\n');
}

/** Writes the table of ratios and the plots of the page. */
export function writeSummary(results: readonly Result[]): void {
  putSection('summary', summaryOf(results));
  const noop = results.filter((each) => each.case === 'noop');
  draw('benchmark-round-trip.svg', {
    title: 'Nothing to do, one server: time by round trip',
    x: { title: 'added to each round trip, ms', ticks: [0, 25, 50, 75, 100], scale: 'linear' },
    lines: linesOf(
      noop.filter(({ hosts }) => hosts === 1),
      ({ delay }) => delay,
    ),
  });
  draw('benchmark-servers.svg', {
    title: 'Nothing to do: time by number of servers',
    x: { title: 'servers', ticks: [1, 10, 50, 100], scale: 'logarithmic' },
    lines: linesOf(
      noop.filter(({ delay }) => delay === 0),
      ({ hosts }) => hosts,
    ),
  });
}

function draw(name: string, plot: Omit<Parameters<typeof svg>[0], 'y'>): void {
  const y = { title: 'seconds', ticks: [0.1, 0.3, 1, 3, 10, 30, 100] };
  writeFileSync(new URL(name, folder), svg({ ...plot, y }));
}

function linesOf(results: readonly Result[], x: (result: Result) => number): Line[] {
  return compared.flatMap((tool, at) => {
    const points = results.flatMap((result): [number, number][] => {
      const wall = result.tools[tool]?.wall;
      return wall ? [[x(result), median(wall)]] : [];
    });
    return points.length > 0 ? [{ title: shortTitle(tool), colour: colours[at] ?? '', points }] : [];
  });
}

const shortTitle = (tool: ToolName): string => tools[tool].title.split(/[:,]/, 1)[0] ?? tool;

function secondsOf({ tools: measured }: Result, tool: ToolName): string {
  const wall = measured[tool]?.wall;
  return wall ? median(wall).toFixed(2) : '–';
}

function ratioOf({ tools: measured }: Result, tool: ToolName): string {
  const [own, ours] = [measured[tool]?.wall, measured.ours?.wall];
  if (!own || !ours) return '–';
  const ratio = median(own.map((value, at) => value / (ours[at] ?? Number.NaN)));
  return ratio < 10 ? ratio.toFixed(1) : ratio.toFixed(0);
}
