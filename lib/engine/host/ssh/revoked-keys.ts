import { readPlain, whyUnread } from '../../file/bounded-file.ts';
import { Unreachable } from '../connection-errors.ts';
import { type HostKey, parseHostKey } from './known-hosts.ts';
import { longestKeys, readText } from './read-text.ts';

/** How a key revocation list of ssh-keygen -k begins. */
const revocationList = 'SSHKRL\n\0';

/**
 * The keys in a file of RevokedHostKeys: a line for each, `ssh-ed25519 AAAA…`.
 *
 * @param name the host in errors
 * @throws Unreachable for a file that cannot be read, as ssh then trusts no host either
 */
export function readRevokedKeys(name: string, path: string): readonly HostKey[] {
  const refuse = (what: string, hint: string) =>
    new Unreachable(name, `RevokedHostKeys of ssh_config: ${what}`, hint);
  // As ssh takes it: nothing is revoked.
  if (path === '/dev/null') return [];
  let text: string;
  try {
    text = readPlain(path, longestKeys).toString('latin1');
  } catch (error) {
    throw refuse(
      `${path} ${whyUnread(error)}`,
      'nothing was connected to: ssh trusts no host key either without it',
    );
  }
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(#.*)?$/.test(line)) return [];
    const key = parseHostKey(line);
    if (key) return [key];
    throw refuse(
      `${path}:${index + 1} is not a public key`,
      'nothing was connected to. Write it as: ssh-ed25519 AAAA…',
    );
  });
}

/** Whether a file is a key revocation list. */
export function isRevocationList(path: string): boolean {
  return readText(path)?.startsWith(revocationList) ?? false;
}
