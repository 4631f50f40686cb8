import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { readBounded, UnfitFile } from '../file/bounded-file.ts';
import { putInPlace } from '../file/private-output.ts';
import { Problem } from '../problem/problem.ts';
import { shellWord } from '../text/shell-word.ts';
import {
  type AgeFile,
  type AgeIdentity,
  DoesNotOpen,
  decrypt,
  encrypt,
  NotSound,
  readAgeFile,
} from './age/age-file.ts';
import { passphraseIdentity, passphraseRecipient } from './age/age-passphrase.ts';
import { findIdentities, identityVariable, type Keys, passphraseVariable } from './age/identities.ts';
import { parseRecipients } from './age/recipients.ts';
import { askUntilRight } from './ask.ts';

/** A whole file of secrets is a few hundred bytes. */
const largest = 1024 * 1024;

/** The file of an inventory's secrets: inventory/mainnet.secrets.age beside inventory/mainnet.yaml. */
export function secretsFileOf(inventoryFile: string): string {
  return `${inventoryFile.replace(/\.ya?ml$/, '')}.secrets.age`;
}

/** The file that says who may read a file of secrets; where there is none, whoever has the passphrase may. */
export function recipientsFileOf(secretsFile: string): string {
  return secretsFile.replace(/\.age$/, '.recipients');
}

/** The command about a file of secrets, as an operator would type it. */
export function secretsCommand(secretsFile: string, words: string): string {
  const path = secretsFile.replace(/\.secrets\.age$/, '');
  const inventory = dirname(path) === 'inventory' ? basename(path) : `${path}.yaml`;
  return `npx zx playbooks/secrets.mjs --inventory ${shellWord(inventory)} ${words}`;
}

/** What opened a file, and can open it again without asking. */
export type Key = { readonly passphrase: string } | { readonly identities: readonly AgeIdentity[] };

export interface OpenedFile {
  readonly text: string;
  readonly key: Key;
  /** As it stands on disk, to see whether somebody else changed it meanwhile. */
  readonly content: Uint8Array;
}

/**
 * Decrypts a file of secrets. One that is encrypted to a passphrase takes that of the environment, or asks; any other takes the
 * identities that findIdentities finds.
 *
 * @throws Problem where there is no such file, it is damaged, or nothing at hand opens it
 */
export async function openSecretsFile(file: string, keys: Keys): Promise<OpenedFile> {
  const content = await readSecretsFile(file);
  if (content === undefined) {
    throw new Problem(`${file} does not exist`, { hint: secretsCommand(file, 'generate') });
  }
  const age = await sound(file, () => readAgeFile(content));
  const opened = age.recipients.includes('scrypt') ? byPassphrase(file, age, keys) : byIdentity(file, age, keys);
  return { ...(await opened), content };
}

/** The file as it is, or undefined where there is none. @throws Problem where it cannot be read */
export async function readSecretsFile(file: string): Promise<Uint8Array | undefined> {
  try {
    return readBounded(file, largest);
  } catch (error) {
    if (error instanceof UnfitFile) throw new Problem(`${file} ${error.message}: that is no file of secrets`);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Problem(`${file} cannot be read (${code ?? 'unknown error'})`);
  }
}

/** Whether a file is encrypted to a passphrase. @throws Problem where it is damaged */
export async function hasPassphrase(file: string, content: Uint8Array): Promise<boolean> {
  return (await sound(file, () => readAgeFile(content))).recipients.includes('scrypt');
}

type Opened = Pick<OpenedFile, 'text' | 'key'>;

async function byPassphrase(file: string, age: AgeFile, { environment = process.env, ask }: Keys): Promise<Opened> {
  const given = environment[passphraseVariable];
  const tried = async (passphrase: string): Promise<Opened | undefined> => {
    const text = await sound(file, () => decrypt(age, [passphraseIdentity(passphrase)])).catch(nothingFits);
    return text === undefined ? undefined : { text, key: { passphrase } };
  };
  if (given) {
    const opened = await tried(given);
    if (opened) return opened;
    throw new Problem(`the passphrase in ${passphraseVariable} does not open ${file}`, {
      hint: `unset ${passphraseVariable} to be asked for it`,
    });
  }
  if (ask) return askUntilRight(ask, `passphrase of ${file}: `, `that passphrase does not open ${file}`, tried);
  throw new Problem(`${file} needs its passphrase, and there is no terminal to ask for it on`, {
    hint: `export ${passphraseVariable} before the run`,
  });
}

async function byIdentity(file: string, age: AgeFile, keys: Keys): Promise<Opened> {
  const { identities, lookedAt } = await findIdentities(keys);
  const text = await sound(file, () => decrypt(age, identities)).catch(nothingFits);
  if (text !== undefined) return { text, key: { identities } };
  const looked = lookedAt.length > 0 ? `; looked at ${lookedAt.join(', ')}` : '';
  throw new Problem(`no identity at hand opens ${file}${looked}`, {
    hint: `name another, --identity FILE or ${identityVariable}; or have somebody who can read it add you: docs/secrets.md`,
  });
}

function nothingFits(error: unknown): undefined {
  if (!(error instanceof DoesNotOpen)) throw error;
}

async function sound<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof NotSound)) throw error;
    throw new Problem(`${file} ${error.message}`, { hint: 'take an older copy of it, from git or a backup' });
  }
}

/** Those who may read the file, as its file of recipients says, or undefined where there is no such file. @throws Problem, Problems */
export async function readRecipients(secretsFile: string) {
  const file = recipientsFileOf(secretsFile);
  try {
    return await parseRecipients(readBounded(file, largest).toString('utf8'), file);
  } catch (error) {
    if (error instanceof UnfitFile) throw new Problem(`${file} ${error.message}`);
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw error;
    if (code === 'ENOENT') return undefined;
    throw new Problem(`${file} cannot be read (${code})`);
  }
}

/** Who is to be able to open a file. */
export type Lock =
  | { readonly passphrase: string }
  | { readonly recipients: NonNullable<Awaited<ReturnType<typeof readRecipients>>> };

/** @param work the cost of a passphrase, for tests: see passphraseRecipient */
export function sealed(text: string, lock: Lock, work?: number): Promise<Uint8Array> {
  return encrypt(text, 'passphrase' in lock ? [passphraseRecipient(lock.passphrase, work)] : lock.recipients);
}

/**
 * Whether a key opens these bytes.
 *
 * @returns undefined where that cannot be told without asking for the passphrase of an SSH key
 */
export async function opens(key: Key, bytes: Uint8Array): Promise<boolean | undefined> {
  try {
    const identities = 'passphrase' in key ? [passphraseIdentity(key.passphrase)] : key.identities;
    await decrypt(await readAgeFile(bytes), identities);
    return true;
  } catch (error) {
    return error instanceof Problem ? undefined : false;
  }
}

/**
 * Puts new content in the place of a file of secrets, mode 0600, all of it or nothing: by a temporary name and a rename.
 *
 * @param before what stood there when it was read; undefined: there was no file
 * @throws Problem where it cannot be written, or somebody else changed it meanwhile. What was there is then still there.
 */
export async function replaceSecretsFile(
  file: string,
  bytes: Uint8Array,
  before: Uint8Array | undefined,
): Promise<void> {
  const now = await readSecretsFile(file);
  if (Buffer.compare(now ?? Buffer.alloc(0), before ?? Buffer.alloc(0)) !== 0) {
    throw new Problem(`${file} was changed by somebody else meanwhile: nothing was written`, { hint: 'begin again' });
  }
  try {
    putInPlace(now ? await realpath(file) : file, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Problem(`cannot write ${file} (${code ?? 'unknown error'})`, {
      hint: now ? 'what was there before is untouched' : undefined,
    });
  }
}
