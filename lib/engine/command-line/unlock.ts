import { terminal } from '../output/terminal.ts';
import type { Keys } from '../secret/age/identities.ts';
import { type Unlock, unlocker } from '../secret/unlock.ts';

/**
 * The keys that may open secrets.
 *
 * @param identity the value of `--identity`
 */
export function availableKeys(identity: string | undefined): Keys {
  return { identity, environment: process.env, ask: terminal()?.hidden };
}

/**
 * Opens files of secrets when the first reference to a secret is read. Asks on the terminal for a
 * passphrase, once for each file.
 *
 * @param identity the value of `--identity`
 */
export function unlockOnTerminal(identity?: string | undefined): Unlock {
  return unlocker(availableKeys(identity));
}
