import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { hintOfUnread, readBounded, whyUnread } from '../file/bounded-file.ts';
import { writePrivateFile } from '../file/private-output.ts';
import { Problem } from '../problem/problem.ts';
import { errorCode } from '../text/error-code.ts';
import { shellWord } from '../text/shell-word.mjs';
import { type AgeFile, type AgeRecipient, decrypt, readAgeFile } from './age/age-file.ts';
import { findIdentities, identityVariable, type Keys, passphraseVariable } from './age/identities.ts';
import { parseRecipients } from './age/recipients.ts';
import { askUntilRight } from './ask.ts';

/** A file of secrets has a few hundred bytes. */
const largest = 1024 * 1024;

/**
 * The file of an inventory's secrets: inventory/mainnet.secrets.age beside inventory/mainnet.yaml.
 */
export function secretsFileOf(inventoryFile: string): string {
  return `${inventoryFile.replace(/\.ya?ml$/, '')}.secrets.age`;
}

/**
 * The file with the recipients of a file of secrets; without it, everybody with the passphrase can
 * read it.
 */
export function recipientsFileOf(secretsFile: string): string {
  return secretsFile.replace(/\.age$/, '.recipients');
}

/** The command for a file of secrets, as an operator would type it. */
export function secretsCommand(secretsFile: string, words: string): string {
  const path = secretsFile.replace(/\.secrets\.age$/, '');
  const ending = existsSync(`${path}.yml`) && !existsSync(`${path}.yaml`) ? 'yml' : 'yaml';
  const isNamed = dirname(path) === 'inventory' && ending === 'yaml';
  const inventory = isNamed ? basename(path) : `${path}.${ending}`;
  return `npx zx playbooks/secrets.mjs --inventory ${shellWord(inventory)} ${words}`;
}

/** A decrypted file of secrets. */
export interface OpenedFile {
  readonly text: string;
  /** The passphrase that opened it; undefined where an identity did. */
  readonly passphrase: string | undefined;
  /** The file as it was on disk, to detect a change by somebody else in the meantime. */
  readonly content: Uint8Array;
}

/**
 * Decrypts a file of secrets. For a file that is encrypted to a passphrase it uses that of the
 * environment, or asks; otherwise the identities that findIdentities finds.
 *
 * @throws Problem where there is no such file, it is damaged, or no available key opens it
 */
export async function openSecretsFile(file: string, keys: Keys): Promise<OpenedFile> {
  const content = readSecretsFile(file);
  if (!content) throw new Problem(`${file} does not exist`, { hint: secretsCommand(file, 'generate') });
  const age = await readAgeFile(content, file);
  if (age.recipients.includes('scrypt')) return { content, ...(await byPassphrase(age, keys)) };
  const { identities, checked } = await findIdentities(keys);
  const text = await decrypt(age, identities);
  if (text !== undefined) return { content, text, passphrase: undefined };
  const which = checked.length > 0 ? `; checked ${checked.join(', ')}` : '';
  throw new Problem(`no available identity opens ${file}${which}`, {
    hint: `name another identity, by --identity FILE or ${identityVariable}; or ask a reader of the file to add you: docs/secrets.md`,
  });
}

/**
 * The file as it is, or undefined where there is no such file.
 *
 * @throws Problem where it cannot be read
 */
export function readSecretsFile(file: string): Buffer | undefined {
  try {
    return readBounded(file, largest);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Problem(`${file} ${whyUnread(error)}`, { hint: hintOfUnread(error) });
  }
}

async function byPassphrase(age: AgeFile, { environment, ask }: Keys) {
  const { file } = age;
  const attempt = async (passphrase: string) => {
    const text = await decrypt(age, [], passphrase);
    return text === undefined ? undefined : { text, passphrase };
  };
  const given = passphraseIn(environment);
  if (given) {
    const opened = await attempt(given);
    if (opened) return opened;
    throw new Problem(`the passphrase in ${passphraseVariable} does not open ${file}`, {
      hint: `unset ${passphraseVariable} to be asked for the passphrase`,
    });
  }
  if (ask)
    return askUntilRight(ask, `passphrase of ${file}: `, `that passphrase does not open ${file}`, attempt);
  throw new Problem(`${file} needs its passphrase, and there is no terminal to ask for it on`, {
    hint: `export ${passphraseVariable} before the run`,
  });
}

/**
 * The passphrase of the environment. One line break at its end is removed: CI secret stores often
 * add one.
 */
export function passphraseIn(environment = process.env): string | undefined {
  return environment[passphraseVariable]?.replace(/\r?\n$/, '');
}

/**
 * Who may read the file, by its file of recipients, or undefined where there is no such file.
 *
 * @throws Problem, Problems
 */
export async function readRecipients(secretsFile: string): Promise<readonly AgeRecipient[] | undefined> {
  const file = recipientsFileOf(secretsFile);
  const content = readSecretsFile(file);
  return content && parseRecipients(content.toString('utf8'), file);
}

/**
 * Replaces a file of secrets, mode 0600, completely or not at all: by a temporary name and a
 * rename.
 *
 * @param before its content when it was read; undefined: there was no file
 * @throws Problem where it cannot be written, or somebody else changed it in the meantime. Then
 * the file stays as it is.
 */
export function replaceSecretsFile(file: string, bytes: Uint8Array, before: Uint8Array | undefined): void {
  const now = readSecretsFile(file);
  if (Buffer.compare(now ?? Buffer.alloc(0), before ?? Buffer.alloc(0)) !== 0) {
    throw new Problem(`${file} has changed while this command ran: nothing was written`, {
      hint: 'run the command again',
    });
  }
  writePrivateFile(file, bytes);
}
