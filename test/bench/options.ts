import { parseArgs } from 'node:util';
import { type Case, cases, type ToolName, tools } from './tools.ts';

/** The requested measurements. */
export interface Options {
  readonly hosts: readonly number[];
  /** Milliseconds added to each round trip. */
  readonly delays: readonly number[];
  readonly cases: readonly Case[];
  readonly tools: readonly ToolName[];
  /** How often each tool is measured: once per round, in turn. */
  readonly pairs: number;
  /** Number of light hosts. Where it is set, only they are measured. */
  readonly light: number | undefined;
}

export const help = `npm run bench -- [options]: measures the same work done by several tools, and writes docs/benchmarks.md and docs/benchmark-results.md

  --hosts N,N      how many hosts (1,10,50)
  --delay MS,MS    milliseconds added to each round trip (0,25,100)
  --case NAME,…    ${cases.join(', ')} (all)
  --tool NAME,…    ${Object.keys(tools).join(', ')} (all)
  --light N        only a run with nothing to do on N light hosts: SSH servers that answer as a real host did
  --pairs N        rounds, in each of which every tool runs once (5)

Each table is one number of hosts, one delay and one case. A table is replaced whole as soon as its case is measured: rows of a tool
that --tool leaves out are gone. The other tables stay.
Needs root, and the network when it runs for the first time.
`;

/**
 * @throws Error for an unknown or invalid option
 */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      hosts: { type: 'string', default: '1,10,50' },
      delay: { type: 'string', default: '0,25,100' },
      case: { type: 'string', default: cases.join() },
      tool: { type: 'string', default: Object.keys(tools).join() },
      pairs: { type: 'string', default: '5' },
      light: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return {
    hosts: numbers('--hosts', values.hosts, 1, 200),
    // It becomes a byte of the address of a delayed host.
    delays: numbers('--delay', values.delay, 0, 255),
    cases: among('--case', values.case, cases),
    tools: among('--tool', values.tool, Object.keys(tools) as ToolName[]),
    pairs: numbers('--pairs', values.pairs, 1, 1000)[0] ?? 5,
    light: values.light === undefined ? undefined : numbers('--light', values.light, 10, 5000)[0],
  };
}

function numbers(option: string, said: string, least: number, most: number): number[] {
  return said.split(',').map((text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new Error(`${option} ${said}: must be whole numbers from ${least} to ${most}, with commas between`);
  });
}

function among<T extends string>(option: string, said: string, known: readonly T[]): T[] {
  return said.split(',').map((text) => {
    const found = known.find((name) => name === text);
    if (found !== undefined) return found;
    throw new Error(`${option} ${text}: known are ${known.join(', ')}`);
  });
}
