import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';

/** scrypt at a millionth of its usual cost. */
export const littleWork = 2;

/**
 * A new SSH key pair. The library makes an invalid ed25519 key in one of 256 cases: if the public
 * key begins with a zero.
 */
export function newKeyPair(
  type: 'ed25519' | 'rsa' | 'ecdsa',
  options: { bits?: number; passphrase?: string; cipher?: string; rounds?: number; comment?: string } = {},
): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync(type, options as never);
    if (!(ssh2.utils.parseKey(pair.private, options.passphrase) instanceof Error)) return pair;
  }
}

/**
 * A key of SSH in a folder, as ssh-keygen makes it.
 *
 * @returns the path of the private one, and the line of the public one
 */
export function sshKey(folder: string, type: 'ed25519' | 'rsa' | 'ecdsa', passphrase?: string, bits = 2048) {
  const locked = passphrase === undefined ? {} : { passphrase, cipher: 'aes256-ctr', rounds: 1 };
  const size = type === 'rsa' ? { bits } : type === 'ecdsa' ? { bits: 256 } : {};
  const pair = newKeyPair(type, { ...size, ...locked, comment: 'a@b' });
  const path = join(folder, `id_${type}${passphrase === undefined ? '' : '_locked'}`);
  writeFileSync(path, pair.private.endsWith('\n') ? pair.private : `${pair.private}\n`, { mode: 0o600 });
  writeFileSync(`${path}.pub`, `${pair.public}\n`);
  return { path, public: pair.public };
}
