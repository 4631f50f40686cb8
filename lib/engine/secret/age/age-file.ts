import type { Identity, Recipient } from './age-stanza.ts';

/** `AGE-SECRET-KEY-1…`, or an identity of another kind. */
export type AgeIdentity = string | Identity;
/** `age1…`, or a recipient of another kind. */
export type AgeRecipient = string | Recipient;

const armorStart = '-----BEGIN AGE ENCRYPTED FILE-----';

/** No identity opens the file, or the passphrase is another. */
export class DoesNotOpen extends Error {}

/** A file that no identity could open; the message goes on from its path. */
export class NotSound extends Error {}

/** An encrypted file: its bytes, and for whom it is. */
export interface AgeFile {
  readonly bytes: Uint8Array;
  /** `scrypt` alone for a passphrase, else such as `X25519` and `ssh-ed25519`, one for each recipient. */
  readonly recipients: readonly string[];
}

/**
 * Reads the outside of a file in the age format, armoured as text or not.
 *
 * @throws NotSound where it is none, or is cut off within its header
 */
export async function readAgeFile(content: Uint8Array): Promise<AgeFile> {
  if (content.length === 0) throw new NotSound('is empty');
  const bytes = await withoutArmor(content);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (!text.startsWith('age-encryption.org/v1\n')) throw new NotSound('is not a file in the age format');
  const end = text.indexOf('\n---');
  if (end === -1) throw new NotSound('is cut off');
  const recipients = [...text.slice(0, end).matchAll(/^-> (\S+)/gm)].map(([, type = '']) => type);
  return { bytes, recipients };
}

async function withoutArmor(content: Uint8Array): Promise<Uint8Array> {
  const text = Buffer.from(content).toString('latin1').trimStart();
  if (!text.startsWith(armorStart)) return content;
  const { armor } = await import('age-encryption');
  try {
    return armor.decode(text);
  } catch {
    throw new NotSound('is cut off, or was changed after it was encrypted');
  }
}

/**
 * Decrypts a text.
 *
 * @throws DoesNotOpen where no identity fits
 * @throws NotSound where the file is damaged or was tampered with
 * @throws Problem what an identity throws, as one that asks for its own passphrase
 */
export async function decrypt({ bytes }: AgeFile, identities: readonly AgeIdentity[]): Promise<string> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  let thrown: unknown;
  for (const identity of identities)
    decrypter.addIdentity(typeof identity === 'string' ? identity : remembering(identity));
  // Asked last: the library tells this case by the words of an error alone.
  decrypter.addIdentity({
    unwrapFileKey() {
      throw new DoesNotOpen();
    },
  });
  try {
    const plain = await decrypter.decrypt(bytes);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plain);
  } catch (error) {
    if (error instanceof DoesNotOpen) throw error;
    if (thrown !== undefined) throw thrown;
    throw new NotSound('is cut off, or was changed after it was encrypted');
  }

  /** Tells what an identity throws from what the library does. */
  function remembering(identity: Identity): Identity {
    return {
      unwrapFileKey: async (stanzas) => {
        try {
          return await identity.unwrapFileKey(stanzas);
        } catch (error) {
          if (error instanceof Error && error.name === 'Problem') thrown = error;
          throw error;
        }
      },
    };
  }
}

/** Encrypts a text, as text or binary as the age program does without `--armor`. */
export async function encrypt(text: string, recipients: readonly AgeRecipient[]): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  return encrypter.encrypt(text);
}
