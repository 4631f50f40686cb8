import { setTimeout as sleep } from 'node:timers/promises';
import type { WriteStream } from 'node:tty';
import pLimit from 'p-limit';
import { endWithOutput } from '../../engine/command-line/closed-pipe.ts';
import { type CommandOutput, command, standardOutput } from '../../engine/command-line/command.ts';
import { durationOf, type Given, shared, wholeNumber } from '../../engine/command-line/command-line.ts';
import { connected } from '../../engine/command-line/connected.ts';
import { paintFor } from '../../engine/output/colour.ts';
import { wrappedFor } from '../../engine/output/wrapped.ts';
import { type ExitCode, exitCode, Problem } from '../../engine/problem/problem.ts';
import { refuseOthersRecords } from '../../engine/report/record.ts';
import { recordFolder } from '../../node/project/project-folder.ts';
import { type Health, type HostStatus, type WatchedHost, watchedHost } from '../../node/status/host.ts';
import type { Limits } from '../../node/status/judge.ts';
import { withMovedTags } from '../../node/status/moved-tag.ts';
import { isMonitor } from '../../node/variables/monitoring.ts';
import { givenHosts } from '../each-host/given-hosts.ts';
import { statusJson, worstOf } from './json.ts';
import { lastRuns } from './last-run.ts';
import { statusLines } from './lines.ts';
import { openScreen } from './screen.ts';

/** The dependencies of the command. */
interface StatusDependencies extends CommandOutput {
  readonly watch: typeof watchedHost;
  /** Folder of run records. */
  readonly runs: string;
  readonly output: Pick<WriteStream, 'write' | 'isTTY' | 'columns' | 'rows'>;
}

const codes: Readonly<Record<Health, ExitCode>> = {
  healthy: exitCode.converged,
  unhealthy: exitCode.failed,
  unreachable: exitCode.unreachable,
};

export const statusOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  watch: { short: 'w', help: 'repeat until Ctrl-C' },
  every: { value: 'SECONDS', help: 'with --watch: interval (default: 5)' },
  'stale-after': {
    value: 'DURATION',
    help: 'a host is unhealthy without a new block for so long: 5m, 1h, 90 (seconds; default: 5m)',
  },
  'max-behind': {
    value: 'BLOCKS',
    help: 'a host is unhealthy if it is more blocks behind the trusted sequencer (default: 20)',
  },
  forks: { ...shared.forks, help: 'number of hosts in parallel (default: 25)' },
  timeout: { value: 'SECONDS', help: 'seconds to wait for an answer (default: 20)' },
  identity: shared.identity,
  'ask-become-pass': shared['ask-become-pass'],
  json: { help: 'print one JSON document on one line (docs/status.md); with --watch one for each interval' },
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

/** The options of a command line, checked. */
interface StatusOptions extends Omit<Given<typeof statusOptions>, 'forks' | 'every' | 'timeout'> {
  readonly color: boolean;
  /** Hosts in parallel. */
  readonly forks: number;
  /** Between two looks with `--watch`. Seconds. */
  readonly every: number;
  /** For one host, in seconds. */
  readonly timeout: number;
  readonly limits: Limits;
}

/**
 * Checks the options of a command line.
 *
 * @throws Problem for options that do not go together, and values of another form
 */
export function statusOptionsOf(given: Given<typeof statusOptions>): StatusOptions {
  if (given.every !== undefined && !given.watch) {
    throw new Problem('--every goes with --watch', { hint: 'add --watch, or leave --every out' });
  }
  return {
    ...given,
    color: !given['no-color'],
    forks: wholeNumber('--forks', given.forks, 9999) ?? 25,
    every: wholeNumber('--every', given.every, 3600) ?? 5,
    timeout: wholeNumber('--timeout', given.timeout, 3600) ?? 20,
    limits: {
      staleAfter: durationOf('--stale-after', given['stale-after']) ?? 300,
      mostBehind: wholeNumber('--max-behind', given['max-behind'], 1_000_000, 0) ?? 20,
    },
  };
}

export const run = command({
  command: 'npx zx playbooks/status.mjs',
  purpose:
    'shows the status of every host: containers, blocks, disks, clock. It is read-only and takes no lock.',
  options: statusOptions,
  examples: [
    '--inventory mainnet',
    '--inventory mainnet --limit rpc --watch',
    '--inventory mainnet --json | jq .health',
    '--inventory mainnet --max-behind 100 --stale-after 15m',
  ],
  exits: {
    0: 'all hosts are healthy',
    1: 'a host is unhealthy',
    3: 'bad input',
    4: 'a host is unreachable, and no host is unhealthy',
    130: 'interrupted; the normal end of --watch',
  },
  around(): StatusDependencies {
    const output = standardOutput();
    endWithOutput();
    return { ...output, watch: watchedHost, runs: recordFolder, output: process.stdout };
  },
  work: ({ given }, around) => show(statusOptionsOf(given), around),
});

async function show(options: StatusOptions, around: StatusDependencies): Promise<ExitCode> {
  const { limits, timeout } = options;
  const { inventory, chosen } = await givenHosts(options, true);
  refuseOthersRecords(around.runs);
  return connected(options['ask-become-pass'], async ({ becomePassword, signal: interrupt, closesAtEnd }) => {
    const hosts: WatchedHost[] = [];
    // A monitor has no node to be healthy or not.
    for (const host of chosen.filter((each) => !isMonitor(each))) {
      const context = { host, vars: host.vars, hosts: inventory.hosts };
      hosts.push(closesAtEnd(await around.watch(context, { limits, timeout, becomePassword, interrupt })));
    }
    const board = boardOf(inventory.name, hosts, options, around);
    if (options.watch) {
      await (around.output.isTTY && !options.json ? watchOnScreen : watch)(board, options, interrupt);
      return exitCode.interrupted;
    }
    await board.lookAtAll();
    if (interrupt.aborted) return exitCode.interrupted;
    around.output.write(await board.text());
    return codes[worstOf(board.statuses())];
  });
}

/** The latest status of each host. */
interface Board {
  readonly output: StatusDependencies['output'];
  readonly hosts: readonly WatchedHost[];
  /** Looks at a host again. */
  look(host: WatchedHost): Promise<void>;
  lookAtAll(): Promise<unknown>;
  /** Whether each host was seen. */
  isComplete(): boolean;
  /** In the order of the inventory; a host that has not answered yet is left out. */
  statuses(): readonly HostStatus[];
  /**
   * The status as lines. `room`: the columns and lines of a terminal that the text has to fit in.
   */
  lines(room?: { readonly width?: number; readonly height?: number }): Promise<readonly string[]>;
  /** The status as text, or as JSON with `--json`. */
  text(): Promise<string>;
}

function boardOf(
  inventory: string,
  hosts: readonly WatchedHost[],
  { forks, json, color }: StatusOptions,
  { runs, output }: StatusDependencies,
): Board {
  const latest = new Map<string, HostStatus>();
  const limited = pLimit(forks);
  const missing = () => hosts.length - latest.size;
  const look = async (host: WatchedHost): Promise<void> => {
    const status = await limited(() => host.look());
    if (status) latest.set(host.name, status);
  };
  const statuses = () => hosts.flatMap(({ name }) => latest.get(name) ?? []);
  const shown = async () => {
    const last = await lastRuns(runs, inventory);
    return withMovedTags(statuses()).map((status) => ({ ...status, lastRun: last.get(status.host) }));
  };
  const lines = async (room: { readonly width?: number; readonly height?: number } = {}) => [
    ...statusLines(await shown(), { paint: paintFor(output, color), now: Date.now(), ...room }),
    ...(missing() > 0 ? [`${missing()} not seen yet`] : []),
  ];
  return {
    output,
    hosts,
    look,
    lookAtAll: () => Promise.all(hosts.map(look)),
    isComplete: () => missing() === 0,
    statuses,
    lines,
    text: async () =>
      `${json ? statusJson(inventory, await shown(), Date.now()) : wrappedFor((await lines()).join('\n'), output)}\n`,
  };
}

/** Prints the status again and again, until Ctrl-C. */
async function watch(board: Board, options: StatusOptions, interrupt: AbortSignal): Promise<void> {
  while (!interrupt.aborted) {
    await board.lookAtAll();
    // After Ctrl-C some statuses are of the previous check.
    if (interrupt.aborted) return;
    const text = await board.text();
    board.output.write(options.json ? text : `${titleOf(options)}\n\n${text}\n`);
    await waitFor(options.every, interrupt);
  }
}

/** Like watch, on a screen that is redrawn: no host waits for a slow one. */
async function watchOnScreen(board: Board, options: StatusOptions, interrupt: AbortSignal): Promise<void> {
  const { output } = board;
  const looking = board.hosts.map(async (host) => {
    while (!interrupt.aborted) {
      await board.look(host);
      await waitFor(options.every, interrupt);
    }
  });
  const screen = openScreen(output);
  try {
    // The first screen waits for all hosts, but not long: it counts the missing ones.
    for (let waited = 0; waited < options.every && !board.isComplete() && !interrupt.aborted; waited += 0.1) {
      await waitFor(0.1, interrupt);
    }
    while (!interrupt.aborted) {
      const room = { width: output.columns ?? 80, height: (output.rows ?? 24) - 2 };
      screen.draw([titleOf(options), '', ...(await board.lines(room))]);
      await waitFor(options.every, interrupt);
    }
  } finally {
    screen.close();
  }
  // The last status stays on the terminal.
  if (board.statuses().length > 0) output.write(await board.text());
  await Promise.all(looking);
}

function titleOf({ every }: StatusOptions): string {
  return `${new Date().toISOString().slice(0, 19)}Z, every ${every} s; Ctrl-C ends`;
}

/** Ends early on Ctrl-C. */
async function waitFor(seconds: number, interrupt: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal: interrupt }).catch(() => {});
}
