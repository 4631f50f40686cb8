import constants from 'ssh2/lib/protocol/constants.js';
import { Unreachable } from '../connection-errors.ts';
import { differs, type SshSettings } from './ssh-settings.ts';

/**
 * Algorithms to offer, in order of preference. A list is missing where ssh_config has the usual
 * one: then the library's own counts.
 */
export interface SshAlgorithms {
  readonly kex?: readonly string[];
  readonly ciphers?: readonly string[];
  readonly macs?: readonly string[];
  /** Of signatures with the host's key, not yet limited to those of the library. */
  readonly hostKeys?: readonly string[];
  /** Of signatures with a user's key, not yet limited either. */
  readonly userKeys?: readonly string[];
}

const lists = [
  ['kex', 'KexAlgorithms', constants.SUPPORTED_KEX],
  ['ciphers', 'Ciphers', constants.SUPPORTED_CIPHER],
  ['macs', 'MACs', constants.SUPPORTED_MAC],
] as const;

/**
 * The algorithms of ssh_config, as far as the SSH library has them, in the order of ssh_config.
 *
 * @param name the host in errors
 * @throws Unreachable where the library has none of a list
 */
export function algorithmsOf(name: string, settings: SshSettings, usual: SshSettings): SshAlgorithms {
  const found: Record<string, readonly string[]> = {};
  const wanted = (option: string) =>
    differs(settings, usual, option) ? settings.get(option)?.[0]?.split(',') : undefined;
  for (const [key, option, supported] of lists) {
    const given = wanted(option.toLowerCase());
    if (given) found[key] = commonOf(name, option, given, supported);
  }
  const hostKeys = wanted('hostkeyalgorithms');
  if (hostKeys) found.hostKeys = hostKeys;
  const userKeys = wanted('pubkeyacceptedalgorithms') ?? wanted('pubkeyacceptedkeytypes');
  if (userKeys) found.userKeys = userKeys;
  return found;
}

/**
 * @param option as ssh_config writes it
 * @returns what both have, in the order of `given`
 * @throws Unreachable for nothing
 */
export function commonOf(
  name: string,
  option: string,
  given: readonly string[],
  supported: readonly string[],
): readonly string[] {
  const common = given.filter((algorithm) => supported.includes(algorithm));
  if (common.length > 0) return common;
  throw new Unreachable(
    name,
    `ssh_config sets ${option} ${given.join(',')}, and none of them is supported here`,
    `nothing was connected to. Supported are: ${supported.join(', ')}`,
  );
}
