import { helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { Problem } from '../../engine/problem/problem.ts';

export const renderOptions = {
  inventory: shared.inventory,
  out: {
    short: 'o',
    value: 'DIR',
    help: 'write them: DIR/HOST/FILENAME, mode 0600, secrets as given',
    completes: 'file',
  },
  diff: {
    short: 'd',
    value: 'OTHER',
    help: 'show what differs: OTHER is a generation (current, older) for the same hosts, or another\ninventory. Secrets are not shown',
    completes: 'inventory',
  },
  limit: shared.limit,
  identity: shared.identity,
  'no-color': shared['no-color'],
  help: shared.help,
} as const;

export const renderHelp = helpText({
  command: 'npx zx playbooks/render.mjs',
  purpose: 'renders every file that containers mount, of every host, without a connection to any.',
  options: renderOptions,
  examples: [
    '--inventory mainnet --out out --limit rpc-1',
    '--inventory mainnet --diff older',
    '--inventory testnet --diff mainnet',
  ],
  exits: { 0: 'rendered, or nothing differs', 2: 'something differs (--diff)', 3: 'bad input' },
});

/** Reads the command line. Either `out` or `diff` is given, except with `help`. @throws Problem */
export function parseRenderOptions(args: readonly string[]) {
  const { given } = parseCommandLine(args, renderOptions);
  if (given.help) return given;
  if (given.out !== undefined && given.diff !== undefined) {
    throw new Problem('--out and --diff do not go together', { hint: 'one writes files, the other compares them' });
  }
  if (!given.out && !given.diff) {
    throw new Problem('neither --out nor --diff is given', {
      hint: 'write files: --out DIR; compare them: --diff OTHER',
    });
  }
  return given;
}
