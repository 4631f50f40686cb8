import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { stateDirectory } from './layout.mjs';

export const identityFile = join(stateDirectory, 'id_ed25519');
export const knownHostsFile = join(stateDirectory, 'known_hosts');

/**
 * A new pair of ed25519 keys in OpenSSH's format.
 *
 * @param {string} comment
 * @returns {{ private: string, public: string }}
 */
export function newKeyPair(comment) {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
    // The library loses a leading zero of the public key, so one pair in 256 is invalid, and sshd
    // does not start with it.
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}

/**
 * The key for logins to the lab's hosts; created on first use.
 *
 * @returns {Promise<string>} its public half
 */
export async function ensureClientKey() {
  const existing = await readFile(`${identityFile}.pub`, 'utf8').catch(() => undefined);
  if (existing !== undefined) return existing.trim();
  const pair = newKeyPair('rpc-lab');
  await writeFile(identityFile, pair.private, { mode: 0o600 });
  await writeFile(`${identityFile}.pub`, `${pair.public}\n`);
  return pair.public;
}

/** @returns {Promise<Map<string, string>>} address to host key, as in known_hosts */
export async function knownHosts() {
  const text = await readFile(knownHostsFile, 'utf8').catch(() => '');
  /** @type {Map<string, string>} */
  const keys = new Map();
  for (const line of text.split('\n')) {
    const space = line.indexOf(' ');
    if (space > 0) keys.set(line.slice(0, space), line.slice(space + 1));
  }
  return keys;
}

/** @param {ReadonlyMap<string, string>} keys */
export async function writeKnownHosts(keys) {
  const lines = [...keys].map(([address, key]) => `${address} ${key}\n`);
  await writeFile(knownHostsFile, lines.sort().join(''));
}
