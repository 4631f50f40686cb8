import { createPrivateKey, privateDecrypt } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import ssh2 from 'ssh2';
import { Problem } from '../../problem/problem.ts';
import { shellWord } from '../../text/shell-word.ts';
import { type Ask, askUntilRight } from '../ask.ts';
import { type Identity, type Stanza, unwrap } from './age-stanza.ts';
import { rsaPadding, type SshPublicKey, sshPublicKey, tagOf, wrappingKey } from './ssh-public-key.ts';

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
    const [key, open] = parsed(text, path);
    return identity(key, async () => open);
  }
  let opening: Promise<Open> | undefined;
  return identity(locked, () => (opening ??= unlock(text, path, ask)));
}

/** What OpenSSH's own format begins with. */
const magic = 'openssh-key-v1\0';

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
    try {
      return parsed(text, path, passphrase)[1];
    } catch (error) {
      if (error instanceof WrongPassphrase) return undefined;
      throw error;
    }
  });
}

class WrongPassphrase extends Error {}

function parsed(text: string, path: string, passphrase?: string): [SshPublicKey, Open] {
  const found = ssh2.utils.parseKey(text, passphrase);
  const first = Array.isArray(found) ? found[0] : found;
  if (!first || first instanceof Error) {
    if (passphrase !== undefined && /passphrase|integrity|Malformed/i.test(first?.message ?? ''))
      throw new WrongPassphrase();
    throw new Problem(`${path} is not a private key that can be read`, {
      hint: 'only OpenSSH keys of the types ssh-ed25519 and ssh-rsa can be used',
    });
  }
  const key = usable(() => sshPublicKey(first.getPublicSSH()), path);
  return [key, opener(key, first.getPrivatePEM())];
}

function opener(key: SshPublicKey, pem: string): Open {
  const privateKey = createPrivateKey(pem);
  if (key.type === 'ssh-rsa') {
    return ({ body }) => {
      try {
        return privateDecrypt({ key: privateKey, ...rsaPadding }, body);
      } catch {
        return null;
      }
    };
  }
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const secret = ed25519.utils.toMontgomerySecret(seed);
  return ({ args, body }) => {
    const share = Buffer.from(args[2] ?? '', 'base64');
    return share.length === 32 ? unwrap(body, wrappingKey(key, secret, share, share)) : null;
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
    const bytes = Buffer.from(body, 'base64');
    let at = magic.length;
    const next = () => {
      const start = at + 4;
      at = start + (start <= bytes.length ? bytes.readUInt32BE(at) : 0);
      return bytes.subarray(start, at);
    };
    if (!bytes.toString('latin1').startsWith(magic)) throw new Error('is damaged');
    const [cipher] = [next(), next(), next()];
    // The number of keys in it, which is one.
    at += 4;
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
