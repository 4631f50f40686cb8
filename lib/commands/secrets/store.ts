import type { Terminal } from '../../engine/output/terminal.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { findIdentities, type Keys, passphraseVariable } from '../../engine/secret/age/identities.ts';
import {
  hasPassphrase,
  type Key,
  type Lock,
  openSecretsFile,
  opens,
  readRecipients,
  readSecretsFile,
  recipientsFileOf,
  replaceSecretsFile,
  sealed,
  secretsCommand,
} from '../../engine/secret/secrets-file.ts';

/** Fewer characters are soon found by whoever has the file, and that may be everybody who can read a repository. */
const shortestPassphrase = 12;

/** A file of secrets while a command works on it. */
export interface Store {
  readonly file: string;
  readonly text: string;
  /** What opened it; undefined: there is no such file yet. */
  readonly key: Key | undefined;
  /** What stands on disk. */
  readonly content: Uint8Array | undefined;
  /** Writes it anew. @returns false where none of the operator's own keys opens it any more */
  replace(text: string, lock: Lock, keys: Keys, work?: number): Promise<boolean>;
}

/** Opens a file of secrets to work on it. @throws Problem */
export async function store(file: string, keys: Keys): Promise<Store> {
  return held(file, await openSecretsFile(file, keys));
}

/** As store, but where there is no such file it begins with a text. @throws Problem */
export async function openOrBegin(file: string, keys: Keys, text: string): Promise<Store> {
  const isThere = (await readSecretsFile(file)) !== undefined;
  return isThere ? store(file, keys) : held(file, { text, key: undefined, content: undefined });
}

function held(file: string, { text, key, content }: Pick<Store, 'text' | 'key' | 'content'>): Store {
  return {
    file,
    text,
    key,
    content,
    async replace(changed, lock, keys, work) {
      const bytes = await sealed(changed, lock, work);
      await replaceSecretsFile(file, bytes, content);
      if ('passphrase' in lock) return true;
      const own = key && 'identities' in key ? key : await findIdentities({ ...keys, ask: undefined });
      return (await opens(own, bytes)) !== false;
    },
  };
}

/**
 * Who is to be able to read a file that is written anew: whom its file of recipients names, or else whoever has the passphrase.
 *
 * @throws Problem where that is not known
 */
export async function lockFor(
  { file, key, content }: Store,
  keys: Keys,
  terminal: Terminal | undefined,
): Promise<Lock> {
  const recipients = await readRecipients(file);
  if (recipients) return { recipients };
  if (key && 'passphrase' in key) return key;
  if (content === undefined)
    return { passphrase: await newPassphrase(file, keys.environment?.[passphraseVariable], terminal) };
  throw new Problem(
    `${file} is encrypted for recipients, and ${recipientsFileOf(file)}, which has to name them, does not exist`,
    {
      hint: `write it, one recipient a line; or go over to a passphrase: ${secretsCommand(file, 'rekey')}`,
    },
  );
}

/** As lockFor, where the passphrase, too, is to be another. @throws Problem */
export async function newLock({ file, content }: Store, keys: Keys, terminal: Terminal | undefined): Promise<Lock> {
  const recipients = await readRecipients(file);
  if (recipients) return { recipients };
  // Where there is one already, the environment has that one.
  const isOld = content !== undefined && (await hasPassphrase(file, content));
  return {
    passphrase: await newPassphrase(file, isOld ? undefined : keys.environment?.[passphraseVariable], terminal),
  };
}

async function newPassphrase(file: string, given: string | undefined, terminal: Terminal | undefined): Promise<string> {
  if (!given && !terminal) {
    throw new Problem(`${file} needs a new passphrase, and there is no terminal to ask for it on`, {
      hint: `say instead who may read it, in ${recipientsFileOf(file)}: docs/secrets.md`,
    });
  }
  const passphrase = given || ((await terminal?.hidden(`new passphrase of ${file}: `)) ?? '');
  if (passphrase.length < shortestPassphrase) {
    throw new Problem(`a passphrase of fewer than ${shortestPassphrase} characters is too short`, {
      hint: 'five random words are easy to keep and hard to guess',
    });
  }
  if (!given && (await terminal?.hidden('once more: ')) !== passphrase) throw new Problem('the two passphrases differ');
  return passphrase;
}
