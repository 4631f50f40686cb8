import { parseArgs } from 'node:util';
import { type HelpPage, helpText, type OptionTable, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { identityOption } from '../../engine/command-line/unlock.ts';
import { Problem } from '../../engine/problem/problem.ts';

/** What can be done with secrets, and whether names may follow. */
export const verbs = { generate: false, edit: false, show: true, rotate: true, rekey: false } as const;

export type SecretsVerb = keyof typeof verbs;

/** What an operator said. */
export interface SecretsOptions {
  readonly verb: SecretsVerb;
  /** Empty: all. */
  readonly names: readonly string[];
  readonly inventory: string;
  readonly identity: string | undefined;
  readonly reveal: boolean;
  readonly done: boolean;
}

export const secretsOptions = {
  inventory: {
    ...shared.inventory,
    help: 'inventory/NAME.yaml, or a file; its secrets are in NAME.secrets.age beside it',
  },
  identity: identityOption,
  reveal: { help: 'show: the values, too, in plain sight' },
  done: { help: 'rotate: the databases have the new passwords; forget the former ones' },
  help: shared.help,
} as const satisfies OptionTable;

const page: HelpPage = {
  command: 'npx zx playbooks/secrets.mjs',
  purpose: `keeps passwords in an encrypted file beside the inventory (docs/secrets.md).

  generate          make a password for each database that has none, and the file
  edit              edit it in $EDITOR
  show [NAME …]     name what is in it
  rotate [NAME …]   make new passwords, and say how the databases get them
  rekey             encrypt it for who NAME.secrets.recipients names now, or by a new passphrase`,
  options: secretsOptions,
  examples: [
    '--inventory mainnet generate',
    '--inventory mainnet edit',
    '--inventory mainnet show pool_db_password --reveal',
    '--inventory mainnet rotate pool_db_password',
    '--inventory mainnet rotate --done',
  ],
  exits: {
    0: 'done',
    3: 'bad input, or it cannot be opened: nothing was changed',
    130: 'interrupted: nothing was changed',
  },
};

export const secretsHelp = helpText(page);

/**
 * Reads the command line.
 *
 * @returns undefined where help is asked for
 * @throws Problem
 */
export function parseSecretsOptions(args: readonly string[]): SecretsOptions | undefined {
  const { first, names } = namesBehind(args);
  const { given, words } = parseCommandLine(first, secretsOptions, Object.keys(verbs));
  if (given.help) return undefined;
  const [verb] = words as readonly SecretsVerb[];
  if (verb === undefined) {
    throw new Problem('what to do is not said', { hint: `one of ${Object.keys(verbs).join(', ')}; see --help` });
  }
  if (names.length > 0 && !verbs[verb]) {
    throw new Problem(`unexpected word "${names[0]}"`, { hint: `${verb} takes no names` });
  }
  if (given.reveal && verb !== 'show')
    throw new Problem(`--reveal does not go with ${verb}`, { hint: 'it goes with show' });
  if (given.done && verb !== 'rotate')
    throw new Problem(`--done does not go with ${verb}`, { hint: 'it goes with rotate' });
  if (!given.inventory)
    throw new Problem('no --inventory given', { hint: '--inventory NAME, of inventory/NAME.yaml, or a file' });
  const { inventory, identity, reveal, done } = given;
  return { verb, names, inventory, identity, reveal, done };
}

/** Takes off the words behind the verb, which may be any. */
function namesBehind(args: readonly string[]): { first: readonly string[]; names: readonly string[] } {
  const known = Object.fromEntries(
    Object.entries<OptionTable[string]>(secretsOptions).map(([name, { short, value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short && { short }) },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options: known, strict: false, tokens: true });
  const behind = new Set(tokens.flatMap(({ kind, index }) => (kind === 'positional' ? [index] : [])).slice(1));
  return { first: args.filter((_, i) => !behind.has(i)), names: args.filter((_, i) => behind.has(i)) };
}
