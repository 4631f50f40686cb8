import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Identity, Recipient, Stanza } from 'age-encryption';

export type { Identity, Recipient, Stanza };

/** The key is used once, so the format fixes the nonce. */
const nonce = Buffer.alloc(12);
const tagLength = 16;

/** Encrypts a file key as the format's stanzas hold it: ChaCha20-Poly1305, the tag behind it. */
export function wrap(fileKey: Uint8Array, key: Uint8Array): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagLength });
  return Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()]);
}

/** The file key in the body of a stanza, or null where the key is another's. */
export function unwrap(body: Uint8Array, key: Uint8Array): Uint8Array | null {
  if (body.length !== 16 + tagLength) return null;
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagLength });
  decipher.setAuthTag(body.subarray(-tagLength));
  try {
    return Buffer.concat([decipher.update(body.subarray(0, -tagLength)), decipher.final()]);
  } catch {
    return null;
  }
}

/** HKDF-SHA-256 of 32 bytes. */
export function derive(secret: Uint8Array, salt: Uint8Array, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, label, 32));
}

/** Base64 without padding, as the format's arguments are. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
