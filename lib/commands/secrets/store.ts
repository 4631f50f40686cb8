import type { CommandOutput } from '../../engine/command-line/command.ts';
import type { Terminal } from '../../engine/output/terminal.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { decrypt, encrypt, type Lock, readAgeFile } from '../../engine/secret/age/age-file.ts';
import { allIdentities, type Keys } from '../../engine/secret/age/identities.ts';
import {
  type OpenedFile,
  openSecretsFile,
  passphraseIn,
  readRecipients,
  readSecretsFile,
  recipientsFileOf,
  replaceSecretsFile,
  secretsCommand,
} from '../../engine/secret/secrets-file.ts';

/**
 * A shorter passphrase is soon guessed by anybody with the file, and a repository may be public.
 */
const shortestPassphrase = 12;

/** The dependencies of the command. */
export interface SecretsDependencies extends CommandOutput {
  readonly keys: Keys;
  readonly terminal: Terminal | undefined;
  /**
   * Opens a text in an editor.
   *
   * @returns the text as it was saved
   * @throws Problem
   */
  edit(text: string, name: string): Promise<string>;
  /** The cost of a passphrase, for tests: see encrypt. */
  readonly work?: number;
}

/** A file of secrets during a command. A new one has only a text. */
export interface Store extends Partial<Pick<OpenedFile, 'passphrase' | 'content'>> {
  readonly file: string;
  readonly text: string;
}

/**
 * Opens a file of secrets.
 *
 * @param heading the text to begin with if the file does not exist; without it that is an error
 * @throws Problem
 */
export async function openStore(file: string, keys: Keys, heading?: string): Promise<Store> {
  if (heading !== undefined && !readSecretsFile(file)) return { file, text: heading };
  return { file, ...(await openSecretsFile(file, keys)) };
}

/**
 * The recipients of a file that is written again: those of its recipients file. Without such a file
 * a passphrase opens it.
 *
 * @param isRekey whether the passphrase is to change, too
 * @throws Problem, Problems where neither is known
 */
export async function lockFor(
  { file, passphrase, content }: Store,
  { keys, terminal }: SecretsDependencies,
  isRekey = false,
): Promise<Lock> {
  const recipients = await readRecipients(file);
  if (recipients) return { recipients };
  if (passphrase !== undefined && !isRekey) return { passphrase };
  if (content && !isRekey) {
    throw new Problem(
      `${file} is encrypted for recipients, and ${recipientsFileOf(file)}, which has to name them, does not exist`,
      { hint: `write it, one recipient a line; or change to a passphrase: ${secretsCommand(file, 'rekey')}` },
    );
  }
  // The environment has the current passphrase, if any.
  const given = passphrase === undefined ? passphraseIn(keys.environment) : undefined;
  return { passphrase: await newPassphrase(file, given, terminal) };
}

async function newPassphrase(
  file: string,
  given: string | undefined,
  terminal: Terminal | undefined,
): Promise<string> {
  if (!given && !terminal) {
    throw new Problem(`${file} needs a new passphrase, and there is no terminal to ask for it on`, {
      hint: `or list who may read it in ${recipientsFileOf(file)}: docs/secrets.md`,
    });
  }
  const passphrase = given || ((await terminal?.hidden(`new passphrase of ${file}: `)) ?? '');
  if (passphrase.length < shortestPassphrase) {
    throw new Problem(`a passphrase of fewer than ${shortestPassphrase} characters is too short`, {
      hint: 'five random words are easy to keep and hard to guess',
    });
  }
  if (!given && (await terminal?.hidden('once more: ')) !== passphrase)
    throw new Problem('the two passphrases differ');
  return passphrase;
}

/**
 * Encrypts and writes the file again, and says who can read it.
 *
 * @throws Problem, Problems
 */
export async function write(
  store: Store,
  text: string,
  around: SecretsDependencies,
  given?: Lock,
): Promise<void> {
  const { file } = store;
  const lock = given ?? (await lockFor(store, around));
  const bytes = await encrypt(text, lock, around.work);
  replaceSecretsFile(file, bytes, store.content);
  if ('passphrase' in lock) {
    if (lock.passphrase !== store.passphrase) around.say(`${file}: whoever has its passphrase can read it`);
    return;
  }
  const { length } = lock.recipients;
  const readers = length === 1 ? 'the one recipient' : `the ${length} recipients`;
  around.say(`${file}: ${readers} of ${recipientsFileOf(file)} can read it`);
  const { identities, checked } = await allIdentities(around.keys);
  const opened = await decrypt(await readAgeFile(bytes, file), identities).catch((error) => {
    // An SSH key matches. Its passphrase is not asked for here.
    if (error instanceof Problem) return text;
    throw error;
  });
  if (opened !== undefined) return;
  const which = checked.length > 0 ? ` (checked ${checked.join(', ')})` : '';
  around.complain(
    `none of your own identities opens it now${which}: only the other recipients can undo that`,
  );
}
