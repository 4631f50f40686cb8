import { helpText, parseCommandLine, wholeNumber } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { Problem } from '../../engine/problem/problem.ts';

/** What an operator may say on the command line. */
export interface StatusOptions {
  readonly inventory: string | undefined;
  readonly limit: string | undefined;
  readonly forks: number;
  readonly watch: boolean;
  /** Seconds from one look to the next. */
  readonly every: number;
  /** How long a host may take to answer. Seconds. */
  readonly timeout: number;
  /** Seconds. */
  readonly staleAfter: number;
  /** Blocks. */
  readonly mostBehind: number;
  readonly identity: string | undefined;
  readonly askBecomePass: boolean;
  readonly json: boolean;
  readonly color: boolean;
  readonly help: boolean;
}

export const statusOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  watch: { short: 'w', help: 'look again and again, until Ctrl-C' },
  every: { value: 'SECONDS', help: 'with --watch: from one look to the next (5)' },
  'stale-after': {
    value: 'DURATION',
    help: 'how long a host may go without the next block, such as 90s, 5m, 1h (5m)',
  },
  'max-behind': { value: 'BLOCKS', help: 'how many blocks a host may be behind the trusted sequencer (20)' },
  forks: { ...shared.forks, help: 'hosts looked at at once (25)' },
  timeout: { value: 'SECONDS', help: 'how long a host may take to answer (20)' },
  identity: shared.identity,
  'ask-become-pass': shared['ask-become-pass'],
  json: { help: 'one JSON document on standard output, on one line (docs/status.md); with --watch one for each look' },
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

export const statusHelp = helpText({
  command: 'npx zx playbooks/status.mjs',
  purpose: 'shows how every host is: containers, blocks, disks, clock. It only looks, and takes no lock.',
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
    4: 'a host is unreachable, and none is unhealthy',
    130: 'interrupted, as --watch always is',
  },
});

/** @throws Problem for what cannot be understood */
export function parseStatusOptions(args: readonly string[]): StatusOptions {
  const { given } = parseCommandLine(args, statusOptions);
  if (given.every !== undefined && !given.watch) {
    throw new Problem('--every goes with --watch', { hint: 'add --watch, or leave --every out' });
  }
  return {
    inventory: given.inventory,
    limit: given.limit,
    forks: wholeNumber('--forks', given.forks, 9999) ?? 25,
    watch: given.watch,
    every: wholeNumber('--every', given.every, 3600) ?? 5,
    timeout: wholeNumber('--timeout', given.timeout, 3600) ?? 20,
    staleAfter: duration('--stale-after', given['stale-after']) ?? 300,
    mostBehind: wholeNumber('--max-behind', given['max-behind'], 1_000_000, 0) ?? 20,
    identity: given.identity,
    askBecomePass: given['ask-become-pass'],
    json: given.json,
    color: !given['no-color'],
    help: given.help,
  };
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function duration(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = 's'] = /^(\d{1,6})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(number) * (unitSeconds[unit] ?? 0);
  if (seconds > 0) return seconds;
  throw new Problem(`${option} ${text}: must be a duration, such as 90s, 5m or 1h`);
}
