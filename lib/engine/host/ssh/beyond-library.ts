import { existsSync } from 'node:fs';
import { agentKeyTypes } from './agent-keys.ts';
import { isLockedPkcs8, lockedKey, readKeyFile } from './key-file.ts';
import { hasAuthority, parseHostKey, readKnownHosts } from './known-hosts.ts';
import type { Hop } from './link.ts';
import { readText } from './read-text.ts';
import { isRevocationList } from './revoked-keys.ts';
import { supportedHostKeys } from './ssh-algorithms.ts';

/**
 * Whether ssh_config, a key of a host or a key to log in with needs what the SSH library cannot
 * do, at one of the hosts on the way: options, certificates, revocation lists, keys on security
 * devices, and other formats of keys.
 */
export async function isBeyondLibrary(hops: readonly Hop[]): Promise<boolean> {
  if (hops.some((hop) => hop.config.isBeyondLibrary || needsHostCertificates(hop))) return true;
  const paths = new Set(hops.flatMap((hop) => [hop.identityFile ?? [], hop.config.identityFiles].flat()));
  if ([...paths].some(isKeyBeyond)) return true;
  const agents = new Set(hops.flatMap(({ config }) => (config.identitiesOnly ? [] : (config.agent ?? []))));
  const types = await Promise.all([...agents].map(agentKeyTypes));
  return types.flat().some((type) => /^sk-|-cert-v0\d@/.test(type));
}

function needsHostCertificates({ hostKeys, knownHostsFile, config }: Hop): boolean {
  if (config.revokedHostKeys !== undefined && isRevocationList(config.revokedHostKeys)) return true;
  if (hostKeys.length > 0) {
    const types = hostKeys.map((text) => parseHostKey(text)?.type ?? 'ssh-rsa');
    return types.some((type) => type !== 'ssh-rsa' && !supportedHostKeys.includes(type));
  }
  const files = knownHostsFile === undefined ? config.knownHostsFiles : [knownHostsFile];
  const port = config.hostKeyAlias === undefined ? config.port : 22;
  return hasAuthority(readKnownHosts(files), config.hostKeyAlias ?? config.host, port);
}

/** Whether a key has a certificate, or is a private key that the SSH library cannot read. */
function isKeyBeyond(path: string): boolean {
  const file = readKeyFile(path);
  if (!file) return false;
  if (existsSync(`${path}-cert.pub`)) return true;
  const text = readText(path) ?? '';
  // OpenSSH asks for the passphrase of a format that the library does not read without one, either.
  const isUnusable =
    file.key === undefined && file.why !== undefined && (file.why !== lockedKey || isLockedPkcs8(text));
  // One that others may read, which has a hint, is used by neither.
  return isUnusable && file.hint === undefined && /^-----BEGIN [A-Z ]*PRIVATE KEY-----$/m.test(text);
}
