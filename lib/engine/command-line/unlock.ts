import { terminal } from '../output/terminal.ts';
import type { Keys } from '../secret/age/identities.ts';
import { type Unlock, unlocker } from '../secret/unlock.ts';
import type { OptionSpec } from './command-line.ts';

/** The option of every command that reads secrets. */
export const identityOption = {
  value: 'FILE',
  help: 'opens the file of secrets; without it, your SSH key and others (docs/secrets.md)',
  completes: 'file',
} as const satisfies OptionSpec;

/** What there is to open secrets with. @param identity what `--identity` says */
export function keysAtHand(identity: string | undefined): Keys {
  return { identity, environment: process.env, ask: terminal()?.hidden };
}

/**
 * Opens files of secrets for a run: asks on the terminal where a passphrase is needed, once for each file, and does nothing at all
 * until the first reference to a secret is read.
 *
 * @param identity what `--identity` says
 */
export function unlockOnTerminal(identity?: string | undefined): Unlock {
  return unlocker(keysAtHand(identity));
}
