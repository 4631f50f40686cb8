import type { Identity, Recipient } from 'age-encryption';
import { Problem } from '../../problem/problem.ts';

/** `AGE-SECRET-KEY-1…`, or an identity of another kind. */
export type AgeIdentity = string | Identity;
/** `age1…`, or a recipient of another kind. */
export type AgeRecipient = string | Recipient;

/** Who can decrypt a file. */
export type Lock = { readonly passphrase: string } | { readonly recipients: readonly AgeRecipient[] };

/** An encrypted file. */
export interface AgeFile {
  /** Its name, as problems show it. */
  readonly file: string;
  /** Its content, not armoured. */
  readonly bytes: Uint8Array;
  /**
   * `scrypt` alone for a passphrase, else such as `X25519` and `ssh-ed25519`, one for each
   * recipient.
   */
  readonly recipients: readonly string[];
}

/**
 * Reads the header of a file in the age format, armoured as text or not.
 *
 * @param file as problems show it
 * @throws Problem where the file has another format, or is cut off within its header
 */
export async function readAgeFile(content: Uint8Array, file: string): Promise<AgeFile> {
  if (content.length === 0) throw unusable(file, 'is empty');
  const { armor } = await import('age-encryption');
  let bytes = content;
  let text = Buffer.from(content).toString('latin1');
  if (text.trimStart().startsWith('-----BEGIN AGE ENCRYPTED FILE-----')) {
    try {
      bytes = armor.decode(text.trimStart());
    } catch {
      throw unusable(file, damaged);
    }
    text = Buffer.from(bytes).toString('latin1');
  }
  if (!text.startsWith('age-encryption.org/v1\n')) throw unusable(file, 'is not a file in the age format');
  const end = text.indexOf('\n---');
  if (end === -1) throw unusable(file, 'is cut off');
  const recipients = [...text.slice(0, end).matchAll(/^-> (\S+)/gm)].map(([, type = '']) => type);
  return { file, bytes, recipients };
}

const damaged = 'is cut off, or was changed after it was encrypted';

function unusable(file: string, what: string): Problem {
  return new Problem(`${file} ${what}`, { hint: 'take an older copy of the file, from git or a backup' });
}

/**
 * Decrypts a text by identities or by a passphrase.
 *
 * @returns undefined where none of them opens the file
 * @throws Problem where the file is damaged or was changed, or where an identity needs a
 * passphrase that it cannot get
 */
export async function decrypt(
  { file, bytes }: AgeFile,
  identities: readonly AgeIdentity[],
  passphrase?: string,
): Promise<string | undefined> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase);
  // Asked last: the library reports this case only by the words of an error.
  let noneFits = false;
  decrypter.addIdentity({
    unwrapFileKey() {
      noneFits = true;
      return null;
    },
  });
  try {
    const plain = await decrypter.decrypt(bytes);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plain);
  } catch (error) {
    if (noneFits) return undefined;
    if (error instanceof Problem) throw error;
    throw unusable(file, damaged);
  }
}

/**
 * Encrypts a text, as the age program does without `--armor`.
 *
 * @param work the logarithm of scrypt's cost, for tests. Default: the library's, which is that of
 * the age program
 */
export async function encrypt(text: string, lock: Lock, work?: number): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if (work !== undefined) encrypter.setScryptWorkFactor(work);
  if ('passphrase' in lock) encrypter.setPassphrase(lock.passphrase);
  else for (const recipient of lock.recipients) encrypter.addRecipient(recipient);
  return encrypter.encrypt(text);
}
