import { constants, createHash, createPrivateKey, privateDecrypt } from 'node:crypto';
import { Problem } from '../../problem/problem.ts';
import { shellWord } from '../../text/shell-word.ts';
import { type Ask, askUntilRight } from '../ask.ts';
import { derive, type Identity, type Stanza, unwrap } from './age-stanza.ts';
import {
  ed25519Label,
  fields,
  montgomery,
  rsaLabel,
  type SshPublicKey,
  sshPublicKey,
  tagOf,
  tweaked,
  x25519,
  x25519Private,
} from './ssh-public-key.ts';

/** Whether a text is a private key of SSH, of whatever kind. */
export function isSshPrivateKey(text: string): boolean {
  return /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);
}

/**
 * A private key of SSH as an identity. One with a passphrase asks for it, but only for a file that it can open.
 *
 * @param path as problems and questions call it
 * @param ask undefined where there is nobody to ask
 * @throws Problem for a kind of key that the age format has not, and for a damaged one
 */
export async function sshIdentity(text: string, path: string, ask: Ask | undefined): Promise<Identity> {
  const locked = lockedPublicKey(text, path);
  if (!locked) {
    const [key, open] = await parsed(text, path);
    return identity(key, async () => open);
  }
  let opening: Promise<Open> | undefined;
  return identity(locked, () => (opening ??= unlock(text, path, ask)));
}

type Open = (stanza: Stanza) => Uint8Array | null;

function identity(key: SshPublicKey, open: () => Promise<Open>): Identity {
  return {
    async unwrapFileKey(stanzas) {
      for (const stanza of stanzas) {
        if (stanza.args[0] !== key.type || stanza.args[1] !== tagOf(key)) continue;
        const fileKey = (await open())(stanza);
        if (fileKey) return fileKey;
      }
      return null;
    },
  };
}

async function unlock(text: string, path: string, ask: Ask | undefined): Promise<Open> {
  if (!ask) {
    throw new Problem(`${path} has a passphrase, and there is no terminal to ask for it on`, {
      hint: 'give a key without one, mode 0600: --identity FILE',
    });
  }
  return askUntilRight(ask, `passphrase of ${path}: `, `that is not the passphrase of ${path}`, async (passphrase) => {
    const [, open] = await parsed(text, path, passphrase).catch((error) => {
      if (error instanceof WrongPassphrase) return [];
      throw error;
    });
    return open;
  });
}

class WrongPassphrase extends Error {}

async function parsed(text: string, path: string, passphrase?: string): Promise<[SshPublicKey, Open]> {
  // Only whoever has such a key pays for loading it.
  const { default: ssh2 } = await import('ssh2');
  const found = ssh2.utils.parseKey(text, passphrase);
  const first = Array.isArray(found) ? found[0] : found;
  if (!first || first instanceof Error) {
    if (passphrase !== undefined && /passphrase|integrity|Malformed/i.test(first?.message ?? ''))
      throw new WrongPassphrase();
    throw new Problem(`${path} is no private key that can be read`, {
      hint: 'only OpenSSH keys of the types ssh-ed25519 and ssh-rsa can be used',
    });
  }
  const key = usable(() => sshPublicKey(first.getPublicSSH()), path);
  return [key, opener(key, first.getPrivatePEM())];
}

function opener(key: SshPublicKey, pem: string): Open {
  const privateKey = createPrivateKey(pem);
  if (key.type === 'ssh-rsa') {
    const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256', oaepLabel: Buffer.from(rsaLabel) };
    return ({ body }) => {
      try {
        return privateDecrypt({ key: privateKey, ...oaep }, body);
      } catch {
        return null;
      }
    };
  }
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const scalar = x25519Private(createHash('sha512').update(seed).digest().subarray(0, 32));
  const own = montgomery(key);
  return ({ args, body }) => {
    const share = Buffer.from(args[2] ?? '', 'base64');
    if (share.length !== 32) return null;
    const secret = tweaked(key, x25519(scalar, share));
    return unwrap(body, derive(secret, Buffer.concat([share, own]), ed25519Label));
  };
}

/** The public key of a private one that has a passphrase: OpenSSH's own format has it in the clear. */
function lockedPublicKey(text: string, path: string): SshPublicKey | undefined {
  const [, body] = /^-----BEGIN OPENSSH PRIVATE KEY-----\s([\sA-Za-z0-9+/=]+)-----END/.exec(text) ?? [];
  if (body === undefined) {
    if (!/ENCRYPTED/.test(text)) return undefined;
    throw new Problem(`${path} has a passphrase in an old format that does not say which key it is`, {
      hint: `ssh-keygen -p -f ${shellWord(path)} writes it in the newer one`,
    });
  }
  return usable(() => {
    const magic = Buffer.from('openssh-key-v1\0');
    const bytes = Buffer.from(body, 'base64');
    if (!bytes.subarray(0, magic.length).equals(magic)) throw new Error('is damaged');
    let rest = bytes.subarray(magic.length);
    const next = (): Buffer => {
      const length = rest.length < 4 ? rest.length : rest.readUInt32BE(0);
      const [found] = fields(rest.subarray(0, 4 + length));
      rest = rest.subarray(4 + length);
      return found ?? Buffer.alloc(0);
    };
    const [cipher] = [next(), next(), next()];
    // The number of keys in it, which is one.
    rest = rest.subarray(4);
    const blob = next();
    return cipher?.toString() === 'none' ? undefined : sshPublicKey(blob);
  }, path);
}

function usable<T>(read: () => T, path: string): T {
  try {
    return read();
  } catch (error) {
    throw new Problem(`${path} ${(error as Error).message}`, {
      hint: 'use an ssh-ed25519 key, or make an identity of age: age-keygen -o FILE',
    });
  }
}
