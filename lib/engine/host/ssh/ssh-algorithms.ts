import constants from 'ssh2/lib/protocol/constants.js';
import { differs, type SshSettings } from './ssh-settings.ts';

/**
 * Algorithms to offer, in order of preference. A list is missing where ssh_config has the usual
 * one: then the library's own counts.
 */
export interface SshAlgorithms {
  readonly kex?: readonly string[];
  readonly ciphers?: readonly string[];
  readonly macs?: readonly string[];
  /** Of signatures with the host's key. */
  readonly hostKeys?: readonly string[];
  /** Of signatures with a user's key, not limited to those of the library. */
  readonly userKeys?: readonly string[];
}

/**
 * The algorithms of the SSH library for a host's key, in order of preference. RSA with SHA-1 is
 * left out, as in OpenSSH.
 */
export const supportedHostKeys: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/** Those of the SSH library, by the option of ssh_config in lower case. */
export const supportedAlgorithms: ReadonlyMap<string, readonly string[]> = new Map([
  ['kexalgorithms', constants.SUPPORTED_KEX],
  ['ciphers', constants.SUPPORTED_CIPHER],
  ['macs', constants.SUPPORTED_MAC],
  ['hostkeyalgorithms', supportedHostKeys],
]);

const lists = [
  ['kex', 'kexalgorithms'],
  ['ciphers', 'ciphers'],
  ['macs', 'macs'],
  ['hostKeys', 'hostkeyalgorithms'],
] as const;

/** The algorithms of ssh_config, as far as the SSH library has them, in the order of ssh_config. */
export function algorithmsOf(settings: SshSettings, usual: SshSettings): SshAlgorithms {
  const found: Record<string, readonly string[]> = {};
  const wanted = (option: string) =>
    differs(settings, usual, option) ? settings.get(option)?.[0]?.split(',') : undefined;
  for (const [key, option] of lists) {
    const given = wanted(option);
    if (given) found[key] = given.filter((algorithm) => supportedAlgorithms.get(option)?.includes(algorithm));
  }
  const userKeys = wanted('pubkeyacceptedalgorithms') ?? wanted('pubkeyacceptedkeytypes');
  if (userKeys) found.userKeys = userKeys;
  return found;
}
