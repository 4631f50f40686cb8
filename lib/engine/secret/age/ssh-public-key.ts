import {
  constants,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  publicEncrypt,
} from 'node:crypto';
import { base64, derive, type Recipient, sha256, wrap } from './age-stanza.ts';

export const ed25519Label = 'age-encryption.org/v1/ssh-ed25519';
export const rsaLabel = 'age-encryption.org/v1/ssh-rsa';

/** The format's own limit. Bits. */
const leastRsa = 2048;
/** The prime of the curve: 2^255 - 19. */
const p = 2n ** 255n - 19n;

/** An SSH public key that the age format can encrypt to. */
export interface SshPublicKey {
  readonly type: 'ssh-ed25519' | 'ssh-rsa';
  /** As SSH transmits it, and as its line has it in base64. */
  readonly blob: Buffer;
}

/**
 * Reads a public key as SSH transmits it.
 *
 * @throws Error that says why it is none that can be encrypted to, to go on from "it"
 */
export function sshPublicKey(blob: Buffer): SshPublicKey {
  const [type = Buffer.alloc(0), ...parts] = fields(blob);
  const name = type.toString('latin1');
  if (name === 'ssh-ed25519' && parts.length === 1 && parts[0]?.length === 32) return { type: name, blob };
  if (name === 'ssh-rsa' && parts.length === 2) {
    const bits = rsaKey(parts).asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < leastRsa) throw new Error(`has ${bits} bits, and at least ${leastRsa} are needed`);
    return { type: name, blob };
  }
  const other = !['ssh-ed25519', 'ssh-rsa'].includes(name);
  if (other && /^[a-z][\w@.-]+$/.test(name))
    throw new Error(`is of the type ${name}: only ssh-ed25519 and ssh-rsa can be used`);
  throw new Error('is no public key of SSH, or a damaged one');
}

/** How stanzas name a key: the first four bytes of its hash. */
export function tagOf({ blob }: SshPublicKey): string {
  return base64(sha256(blob).subarray(0, 4));
}

/** Encrypts to whoever has the private key: the format's `ssh-ed25519` and `ssh-rsa` stanzas. */
export function sshRecipient(key: SshPublicKey): Recipient {
  return {
    wrapFileKey(fileKey) {
      if (key.type === 'ssh-rsa') {
        const oaep = {
          padding: constants.RSA_PKCS1_OAEP_PADDING,
          oaepHash: 'sha256',
          oaepLabel: Buffer.from(rsaLabel),
        };
        return [
          {
            args: ['ssh-rsa', tagOf(key)],
            body: publicEncrypt({ key: rsaKey(fields(key.blob).slice(1)), ...oaep }, fileKey),
          },
        ];
      }
      const theirs = montgomery(key);
      const ephemeral = generateKeyPairSync('x25519');
      const share = rawPublic(ephemeral.publicKey);
      const secret = tweaked(key, x25519(ephemeral.privateKey, theirs));
      const wrapping = derive(secret, Buffer.concat([share, theirs]), ed25519Label);
      return [{ args: ['ssh-ed25519', tagOf(key), base64(share)], body: wrap(fileKey, wrapping) }];
    },
  };
}

/** Binds a shared secret to the SSH key, of which the curve's point keeps only a part. */
export function tweaked({ blob }: SshPublicKey, shared: Buffer): Buffer {
  return x25519(x25519Private(derive(Buffer.alloc(0), blob, ed25519Label)), shared);
}

/** The key's point on the curve that X25519 computes on: u = (1 + y) / (1 - y), RFC 7748 section 4.1. */
export function montgomery({ blob }: SshPublicKey): Buffer {
  const point = Buffer.from(fields(blob)[1] ?? []);
  // The highest bit is the sign of x, which u does not need.
  point[31] = (point[31] ?? 0) & 0x7f;
  const y = BigInt(`0x${point.reverse().toString('hex')}`);
  const u = (((1n + y) % p) * power((((1n - y) % p) + p) % p, p - 2n)) % p;
  return Buffer.from(u.toString(16).padStart(64, '0'), 'hex').reverse();
}

/** The shared secret of a private key and a public one of 32 bytes. */
export function x25519(privateKey: KeyObject, publicKey: Buffer): Buffer {
  const spki = Buffer.concat([Buffer.from('302a300506032b656e032100', 'hex'), publicKey]);
  return diffieHellman({ privateKey, publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }) });
}

export function x25519Private(scalar: Uint8Array): KeyObject {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), scalar]);
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-32);
}

function rsaKey([e = Buffer.alloc(0), n = Buffer.alloc(0)]: readonly Buffer[]): KeyObject {
  const number = (bytes: Buffer) => (bytes[0] === 0 ? bytes.subarray(1) : bytes).toString('base64url');
  return createPublicKey({ key: { kty: 'RSA', n: number(n), e: number(e) }, format: 'jwk' });
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let left = exponent, square = base; left > 0n; left >>= 1n, square = (square * square) % p) {
    if (left & 1n) result = (result * square) % p;
  }
  return result;
}

/** The fields of SSH's own encoding: each with its length before it. @throws Error where it ends within one */
export function fields(blob: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    const end = at + 4 + (at + 4 <= blob.length ? blob.readUInt32BE(at) : blob.length);
    if (end > blob.length) throw new Error('is cut off');
    found.push(blob.subarray(at + 4, end));
    at = end;
  }
  return found;
}
