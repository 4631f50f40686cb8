import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { typeOfBlob } from '../../secret/ssh-key-type.ts';
import { shellWord } from '../../text/shell-word.ts';
import { Unreachable } from '../connection-errors.ts';
import {
  findKnownKeys,
  fingerprint,
  type HostKey,
  hostKeyStatus,
  type KnownKeys,
  parseHostKey,
  readKnownHosts,
} from './known-hosts.ts';
import type { SshConfig } from './ssh-config.ts';

/** Makes sure that a host is the one it should be. */
export interface HostKeyCheck {
  /** Signature algorithms to offer, those of known keys first, so that the host shows a key that can be compared. */
  readonly algorithms: readonly string[];
  /** Judges the key that the host shows. */
  accept(blob: Buffer): boolean;
  /** Why the key was refused, once it was. */
  refusal(): Unreachable | undefined;
}

/** What the SSH library can verify, in its order of preference. RSA with SHA-1 is left out, as OpenSSH leaves it out. */
const supported = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/**
 * @param name what the inventory calls the host
 * @param pinned keys from the inventory; where there are some, no known_hosts file can add to them, but it can still revoke one
 * @param file a known_hosts file from the inventory, instead of the operator's own
 * @throws Unreachable for a pinned key that is none
 */
export async function checkHostKey(
  name: string,
  config: SshConfig,
  { hostKeys, knownHostsFile }: Pick<ConnectionSettings, 'hostKeys' | 'knownHostsFile'>,
): Promise<HostKeyCheck> {
  const files = knownHostsFile === undefined ? config.knownHostsFiles : [knownHostsFile];
  const host = config.hostKeyAlias ?? config.host;
  // An alias is a name of its own: it has no port.
  const port = config.hostKeyAlias === undefined ? config.port : 22;
  const found = findKnownKeys(await readKnownHosts(files), host, port);
  const pinned = hostKeys.map((text) => parsePinned(name, text));
  const known = pinned.length > 0 ? { accepted: pinned, withoutPort: [], revoked: found.revoked } : found;
  const kept = pinned.length > 0 ? 'host_key in the inventory' : (files[0] ?? 'known_hosts');
  const label = port === 22 ? host : `[${host}]:${port}`;

  let refusal: Unreachable | undefined;
  return {
    algorithms: preferred(known),
    accept(blob) {
      const judgement = hostKeyStatus(known, blob);
      if (judgement === 'known') return true;
      const seen = { type: typeOfBlob(blob), blob };
      if (judgement === 'unknown') refusal = unknownKey(name, config, label, kept, seen);
      if (judgement === 'mismatch') refusal = changedKey(name, label, kept, known.accepted, seen);
      if (judgement === 'revoked') refusal = revokedKey(name, label, kept, seen);
      return false;
    },
    refusal: () => refusal,
  };
}

function preferred({ accepted, withoutPort }: KnownKeys): string[] {
  const known = [...accepted, ...withoutPort].flatMap(({ type }) =>
    type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type],
  );
  const first = supported.filter((algorithm) => known.includes(algorithm));
  return [...first, ...supported.filter((algorithm) => !first.includes(algorithm))];
}

function unknownKey(name: string, config: SshConfig, label: string, file: string, seen: HostKey): Unreachable {
  const port = config.port === 22 ? '' : `-p ${config.port} `;
  return new Unreachable(
    name,
    `the host key of ${label} is not known, so it could be anybody's: ${seen.type} ${fingerprint(seen.blob)}`,
    `compare the fingerprint with what \`ssh-keygen -lf\` says of /etc/ssh/ssh_host_*_key.pub on the host itself. If it is the same, either
    ssh-keyscan ${port}-t ${scanType(seen.type)} ${shellWord(config.host)} >> ${shellWord(file)}
  or put it into the inventory
    host_key: ${keyLine(seen)}`,
  );
}

function changedKey(name: string, label: string, kept: string, known: readonly HostKey[], seen: HostKey): Unreachable {
  return new Unreachable(
    name,
    `THE HOST KEY OF ${label} IS NOT THE ONE THAT IS KNOWN. Somebody may stand in between, or the host was set up anew.
  shown: ${seen.type} ${fingerprint(seen.blob)}
${known.map(({ type, blob }) => `  known: ${type} ${fingerprint(blob)}`).join('\n')}`,
    `nothing was sent to it. Find out which it is; if the host really has a new key, replace the old one (${kept}) with
    ${keyLine(seen)}`,
  );
}

function revokedKey(name: string, label: string, kept: string, seen: HostKey): Unreachable {
  return new Unreachable(
    name,
    `THE HOST KEY OF ${label} IS REVOKED: ${seen.type} ${fingerprint(seen.blob)}`,
    `nothing was sent to it. ${kept} marks this key @revoked; the host needs a new one`,
  );
}

function parsePinned(name: string, text: string): HostKey {
  try {
    return parseHostKey(text);
  } catch {
    throw new Unreachable(
      name,
      `host_key in the inventory is no host key: ${text}`,
      'it looks like: ssh-ed25519 AAAA…',
    );
  }
}

function keyLine({ type, blob }: HostKey): string {
  return `${type} ${blob.toString('base64')}`;
}

/** ssh-keyscan's word for a type of key. */
function scanType(type: string): string {
  return /ed25519|ecdsa|rsa/.exec(type)?.[0] ?? type;
}
