import {
  type Given,
  type HelpPage,
  type OptionTable,
  shared,
} from '../../engine/command-line/command-line.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { givenInventory } from '../../node/inventory/project.ts';

/** The verbs of the command line, and whether names may follow each. */
export const verbs = { generate: false, edit: false, show: true, rotate: true, rekey: false } as const;

export const secretsOptions = {
  inventory: {
    ...shared.inventory,
    help: 'inventory/NAME.yaml, or a file; its secrets are in NAME.secrets.age beside it',
  },
  identity: shared.identity,
  reveal: { help: 'with show: print the values in plain text' },
  done: { help: 'with rotate: delete the previous passwords, when the databases use the new ones' },
  help: shared.help,
} as const satisfies OptionTable;

export const secretsPage = {
  command: 'npx zx playbooks/secrets.mjs',
  usage: 'COMMAND [NAME …] --inventory NAME [options]',
  purpose: `keeps passwords in an encrypted file beside the inventory (docs/secrets.md).

  generate          make the missing database passwords, the authority of tls, and the secrets file
  edit              edit the secrets file in $EDITOR
  show [NAME …]     list the names of the secrets
  rotate [NAME …]   make new passwords, which the next deploy gives to databases and servers
  rekey             encrypt the file again for NAME.secrets.recipients, or with a new passphrase`,
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
    3: 'bad input, or the secrets file cannot be opened: nothing was changed',
    130: 'interrupted: nothing was changed',
  },
} satisfies HelpPage;

/** The options of a command line, checked. */
export interface SecretsOptions extends Omit<Given<typeof secretsOptions>, 'inventory'> {
  /** Name or file of the inventory. */
  readonly inventory: string;
  readonly verb: keyof typeof verbs;
  /** Names of secrets; none mean all. */
  readonly names: readonly string[];
}

/**
 * Checks the options of a command line.
 *
 * @param words the verb, and names of secrets
 * @throws Problem for options and words that do not go together
 */
export function secretsOptionsOf(
  given: Given<typeof secretsOptions>,
  words: readonly string[],
): SecretsOptions {
  const [verb, ...names] = words as readonly [(keyof typeof verbs)?, ...string[]];
  if (verb === undefined) {
    throw new Problem('the command line does not say what to do', {
      hint: `one of ${Object.keys(verbs).join(', ')}; see --help`,
    });
  }
  if (names.length > 0 && !verbs[verb]) {
    throw new Problem(`unexpected word "${names[0]}"`, { hint: `${verb} takes no names` });
  }
  if (given.reveal && verb !== 'show')
    throw new Problem(`--reveal does not go with ${verb}`, { hint: 'it goes with show' });
  if (given.done && verb !== 'rotate')
    throw new Problem(`--done does not go with ${verb}`, { hint: 'it goes with rotate' });
  return { ...given, inventory: givenInventory(given.inventory), verb, names };
}
