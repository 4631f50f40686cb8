import type { OptionTable } from './command-line.ts';
import { identityOption } from './unlock.ts';

/** Options that mean the same to every command that has them. */
export const shared = {
  inventory: {
    short: 'i',
    value: 'NAME|FILE',
    help: 'inventory/NAME.yaml, or a file; without it the embedded lab',
    completes: 'inventory',
  },
  limit: {
    short: 'l',
    value: 'PATTERN',
    help: 'these hosts only: names, groups, globs, a,b  !not  &both  name[1:3]',
    completes: 'host',
  },
  identity: identityOption,
  forks: { short: 'f', value: 'N', help: 'hosts worked on at once (25)' },
  'ask-become-pass': { help: 'ask for the sudo password' },
  json: { help: 'events on standard output, one JSON object a line (docs/events.md), and nothing else there' },
  'no-color': { help: 'no colours; NO_COLOR and CI in the environment say the same' },
  verbose: { short: 'v', help: 'show what is ok as well, and stack traces of unexpected errors' },
  help: { short: 'h', help: 'this text' },
} as const satisfies OptionTable;
