import type { OptionTable } from './command-line.ts';
import { identityOption } from './unlock.ts';

/** Options that several commands share. */
export const shared = {
  inventory: {
    short: 'i',
    value: 'NAME|FILE',
    help: 'inventory/NAME.yaml or a file; lab: the embedded lab, which runs on this machine',
    completes: 'inventory',
  },
  limit: {
    short: 'l',
    value: 'PATTERN',
    help: 'only these hosts: names, groups, globs; a,b both; !a not; &a in both; name[1:3]',
    completes: 'host',
  },
  identity: identityOption,
  forks: { short: 'f', value: 'N', help: 'number of hosts in parallel (default: 25)' },
  'ask-become-pass': { help: 'ask for the sudo password' },
  json: { help: 'print only events, one JSON object per line (docs/events.md)' },
  'no-color': { help: 'no colours; so do NO_COLOR and CI in the environment' },
  verbose: { short: 'v', help: 'show tasks that are ok too, and stack traces of unexpected errors' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies OptionTable;
