import { type Given, type HelpPage, shared, wholeNumber } from '../../engine/command-line/command-line.ts';
import { Problem } from '../../engine/problem/problem.ts';

export const statusOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  watch: { short: 'w', help: 'repeat until Ctrl-C' },
  every: { value: 'SECONDS', help: 'with --watch: interval (default: 5)' },
  'stale-after': {
    value: 'DURATION',
    help: 'a host is unhealthy without a new block for so long: 90s, 5m, 1h (default: 5m)',
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

export const statusPage = {
  command: 'npx zx playbooks/status.mjs',
  purpose: 'shows the status of every host: containers, blocks, disks, clock. It is read-only and takes no lock.',
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
} satisfies HelpPage;

export type StatusOptions = ReturnType<typeof statusOptionsOf>;

/** The options of a command line, checked. Times are in seconds. @throws Problem */
export function statusOptionsOf(given: Given<typeof statusOptions>) {
  if (given.every !== undefined && !given.watch) {
    throw new Problem('--every goes with --watch', { hint: 'add --watch, or leave --every out' });
  }
  return {
    ...given,
    color: !given['no-color'],
    askBecomePass: given['ask-become-pass'],
    forks: wholeNumber('--forks', given.forks, 9999) ?? 25,
    every: wholeNumber('--every', given.every, 3600) ?? 5,
    timeout: wholeNumber('--timeout', given.timeout, 3600) ?? 20,
    limits: {
      staleAfter: duration('--stale-after', given['stale-after']) ?? 300,
      mostBehind: wholeNumber('--max-behind', given['max-behind'], 1_000_000, 0) ?? 20,
    },
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
