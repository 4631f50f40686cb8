import { createDecipheriv, createPrivateKey, privateDecrypt } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import type { Identity, Stanza } from 'age-encryption';
import ssh2 from 'ssh2';
import { Problem } from '../../problem/problem.ts';
import { messageOf } from '../../text/error-code.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { type Ask, askUntilRight } from '../ask.ts';
import { openSshKey, publicPartOf } from '../ssh-key-fields.ts';
import { aead, rsaPadding, type SshPublicKey, sshPublicKey, tagOf, wrappingKey } from './ssh-public-key.ts';

/**
 * Decrypts the file key in a stanza.
 *
 * @throws Error where the stanza is for another key
 */
type Unwrap = (stanza: Stanza) => Uint8Array;

/**
 * An SSH private key as an identity. A passphrase is asked for only if the key can decrypt the
 * file.
 *
 * @param path as problems and questions show it
 * @param ask undefined where there is no terminal
 * @throws Problem for a kind of key that the age format does not support, and for a damaged one
 */
export async function sshIdentity(text: string, path: string, ask: Ask | undefined): Promise<Identity> {
  const locked = lockedPublicKey(text, path);
  const plain = locked ? undefined : parsed(text, path);
  const key = locked ?? plain?.key;
  let unwrapping = plain && Promise.resolve(plain.unwrap);
  return {
    async unwrapFileKey(stanzas) {
      for (const stanza of stanzas) {
        if (!key || stanza.args[0] !== key.type || stanza.args[1] !== tagOf(key)) continue;
        unwrapping ??= unlock(text, path, ask);
        const unwrap = await unwrapping;
        try {
          return unwrap(stanza);
        } catch {
          // Another key with the same tag.
        }
      }
      return null;
    },
  };
}

async function unlock(text: string, path: string, ask: Ask | undefined): Promise<Unwrap> {
  if (!ask) {
    throw new Problem(`${path} has a passphrase, and there is no terminal to ask for it on`, {
      hint: 'give a key without a passphrase, mode 0600: --identity FILE',
    });
  }
  return askUntilRight(
    ask,
    `passphrase of ${path}: `,
    `that is not the passphrase of ${path}`,
    async (passphrase) => parsed(text, path, passphrase)?.unwrap,
  );
}

/**
 * @returns undefined where the passphrase is wrong
 */
function parsed(
  text: string,
  path: string,
  passphrase?: string,
): { key: SshPublicKey; unwrap: Unwrap } | undefined {
  const found = ssh2.utils.parseKey(text, passphrase);
  const first = Array.isArray(found) ? found[0] : found;
  if (!first || first instanceof Error) {
    if (passphrase !== undefined && /passphrase|integrity|Malformed/i.test(first?.message ?? ''))
      return undefined;
    throw new Problem(`${path} is not a private key of a supported type, or it is damaged`, {
      hint: 'supported are OpenSSH keys of type ssh-ed25519 and ssh-rsa',
    });
  }
  const key = usable(() => sshPublicKey(first.getPublicSSH()), path);
  const privateKey = createPrivateKey(first.getPrivatePEM());
  if (key.type === 'ssh-rsa')
    return { key, unwrap: ({ body }) => privateDecrypt({ key: privateKey, ...rsaPadding }, body) };
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const secret = ed25519.utils.toMontgomerySecret(seed);
  const unwrap: Unwrap = ({ args, body }) => {
    if (body.length !== 16 + aead.authTagLength) throw new RangeError('not the length of a file key');
    const share = Buffer.from(args[2] ?? '', 'base64');
    const decipher = createDecipheriv(aead.name, wrappingKey(key, secret, share, share), aead.nonce, aead);
    decipher.setAuthTag(body.subarray(-aead.authTagLength));
    return Buffer.concat([decipher.update(body.subarray(0, -aead.authTagLength)), decipher.final()]);
  };
  return { key, unwrap };
}

/**
 * The public key of a private one with a passphrase: OpenSSH's own format has it in plain text.
 */
function lockedPublicKey(text: string, path: string): SshPublicKey | undefined {
  const key = openSshKey(text);
  if (!key) {
    if (!/ENCRYPTED/.test(text)) return undefined;
    throw new Problem(`${path} has a passphrase in an old format that does not say which key it is`, {
      hint: `ssh-keygen -p -f ${shellWord(path)} writes the key in the newer format`,
    });
  }
  return usable(() => {
    const found = publicPartOf(key);
    if (!found) throw new Error('is damaged');
    return found.cipher === 'none' ? undefined : sshPublicKey(found.blob);
  }, path);
}

function usable<T>(read: () => T, path: string): T {
  try {
    return read();
  } catch (error) {
    throw new Problem(`${path} ${messageOf(error)}`, {
      hint: 'use an ssh-ed25519 key, or make an identity of age: age-keygen -o FILE',
    });
  }
}
