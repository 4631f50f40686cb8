import { constants, createCipheriv, createHash, createPublicKey, hkdfSync, publicEncrypt } from 'node:crypto';
import { ed25519, x25519 } from '@noble/curves/ed25519.js';
import type { Recipient } from 'age-encryption';
import ssh2 from 'ssh2';
import { typeOfBlob } from '../ssh-key-fields.ts';

/** How stanzas encrypt a file key. Each key is used once, so the format fixes the nonce. */
export const aead = { name: 'chacha20-poly1305', nonce: Buffer.alloc(12), authTagLength: 16 } as const;

const ed25519Label = 'age-encryption.org/v1/ssh-ed25519';
const damaged = 'is not a public key of SSH, or is damaged';

/** The encryption for a key of type ssh-rsa. */
export const rsaPadding = {
  padding: constants.RSA_PKCS1_OAEP_PADDING,
  oaepHash: 'sha256',
  oaepLabel: Buffer.from('age-encryption.org/v1/ssh-rsa'),
};

/** The format's own limit. Bits. */
const leastRsa = 2048;

/** An SSH public key that the age format can encrypt to. */
export interface SshPublicKey {
  readonly type: 'ssh-ed25519' | 'ssh-rsa';
  /** As SSH transmits it, and as its line has it in base64. */
  readonly blob: Buffer;
  readonly pem: string;
}

/**
 * Reads a public key as SSH transmits it.
 *
 * @throws Error where nothing can be encrypted to it; the message follows "this key"
 */
export function sshPublicKey(blob: Buffer): SshPublicKey {
  const type = typeOfBlob(blob);
  if (type !== 'ssh-ed25519' && type !== 'ssh-rsa') {
    const isName = /^[a-z][\w@.-]+$/.test(type);
    throw new Error(isName ? `is of the type ${type}: only ssh-ed25519 and ssh-rsa can be used` : damaged);
  }
  const sound = soundKey(type, blob);
  if (!sound) throw new Error(damaged);
  const { bits, pem } = sound;
  if (type === 'ssh-rsa' && bits < leastRsa)
    throw new Error(`has ${bits} bits, and at least ${leastRsa} are needed`);
  return { type, blob, pem };
}

/**
 * Undefined for a key that the libraries refuse, and for a point that gives everybody the same
 * shared secret.
 */
function soundKey(type: SshPublicKey['type'], blob: Buffer): { bits: number; pem: string } | undefined {
  try {
    const key = ssh2.utils.parseKey(blob);
    // The library ignores data after the key.
    if (key instanceof Error || !key.getPublicSSH().equals(blob)) return undefined;
    const pem = key.getPublicPEM();
    if (type === 'ssh-rsa')
      return { bits: createPublicKey(pem).asymmetricKeyDetails?.modulusLength ?? 0, pem };
    return ed25519.Point.fromBytes(rawPoint(blob)).isSmallOrder() ? undefined : { bits: 256, pem };
  } catch {
    return undefined;
  }
}

/** How stanzas name a key: the first four bytes of its hash. */
export function tagOf({ blob }: SshPublicKey): string {
  return base64(createHash('sha256').update(blob).digest().subarray(0, 4));
}

/** Encrypts to the owner of the private key: the format's `ssh-ed25519` and `ssh-rsa` stanzas. */
export function sshRecipient(key: SshPublicKey): Recipient {
  return {
    wrapFileKey(fileKey) {
      if (key.type === 'ssh-rsa')
        return [
          { args: [key.type, tagOf(key)], body: publicEncrypt({ key: key.pem, ...rsaPadding }, fileKey) },
        ];
      const { secretKey, publicKey } = x25519.keygen();
      const wrapping = wrappingKey(key, secretKey, montgomery(key), publicKey);
      const cipher = createCipheriv(aead.name, wrapping, aead.nonce, aead);
      const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()]);
      return [{ args: [key.type, tagOf(key), base64(publicKey)], body }];
    },
  };
}

/**
 * The key that a file key is wrapped with in an `ssh-ed25519` stanza.
 *
 * @param secret of the sender or the reader
 * @param other the public half of the other of the two
 * @param share the sender's public half, as in the stanza
 */
export function wrappingKey(
  key: SshPublicKey,
  secret: Uint8Array,
  other: Uint8Array,
  share: Uint8Array,
): Buffer {
  // Binds the shared secret to the SSH key: the curve's point keeps only a part of it.
  const tweak = derive(new Uint8Array(), key.blob, ed25519Label);
  const shared = x25519.scalarMult(tweak, x25519.scalarMult(secret, other));
  return derive(shared, Buffer.concat([share, montgomery(key)]), ed25519Label);
}

/** HKDF-SHA-256 of 32 bytes. */
function derive(secret: Uint8Array, salt: Uint8Array, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, label, 32));
}

/** Base64 without padding, as in the format's arguments. */
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

/** The key's point on the curve that X25519 computes on. */
function montgomery({ blob }: SshPublicKey): Uint8Array {
  return ed25519.utils.toMontgomery(rawPoint(blob));
}

function rawPoint(blob: Buffer): Buffer {
  return blob.subarray(-32);
}
