import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { typeOfBlob } from '../../secret/ssh-key-fields.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { Unreachable } from '../connection-errors.ts';
import type { HostKey, KnownKeys } from './known-hosts.ts';
import {
  findKnownKeys,
  fingerprint,
  hostKeyStatus,
  nameOfHost,
  parseHostKey,
  readKnownHosts,
} from './known-hosts.ts';
import { readRevokedKeys } from './revoked-keys.ts';
import { rsaBits } from './rsa-bits.ts';
import { commonOf } from './ssh-algorithms.ts';
import type { SshConfig } from './ssh-config.ts';

/**
 * The algorithms of the SSH library, in order of preference. RSA with SHA-1 is left out, as in
 * OpenSSH.
 */
const supported = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

type HostKeySettings = Pick<ConnectionSettings, 'hostKeys' | 'knownHostsFile'>;

/**
 * Verifies the key of a host.
 *
 * @param name its name in the inventory
 * @param settings `hostKeys`: pinned keys; where there are some, a known_hosts file cannot add to
 * them, but can still revoke one.
 *   `knownHostsFile`: used instead of the operator's own files
 * @throws Unreachable for a pinned key that is not a key; for a file of revoked keys that cannot
 * be used
 */
export function checkHostKey(name: string, config: SshConfig, settings: HostKeySettings) {
  const trust = trustOf(name, config, settings);
  let refusal: Unreachable | undefined;
  return {
    /**
     * Signature algorithms to offer, those of known keys first, so that the host shows a key that
     * can be compared.
     */
    algorithms: algorithmsFor(name, config, trust),
    /** Whether the key that the host shows is trusted. */
    accept(blob: Buffer): boolean {
      refusal = refusalOf(name, config, trust, { type: typeOfBlob(blob), blob }) ?? refusal;
      return refusal === undefined;
    },
    /** Why the key was refused, if it was. */
    refusal: () => refusal,
  };
}

/** What a host's key is compared with. */
interface Trust {
  /** The host as known_hosts names it. */
  readonly label: string;
  readonly known: KnownKeys;
  /** Where the accepted keys are, or a new one would be: the inventory, or a file. */
  readonly source: string;
  /** Keys in the file of RevokedHostKeys. */
  readonly listed: readonly HostKey[];
}

function trustOf(name: string, config: SshConfig, { hostKeys, knownHostsFile }: HostKeySettings): Trust {
  const files = knownHostsFile === undefined ? config.knownHostsFiles : [knownHostsFile];
  const host = config.hostKeyAlias ?? config.host;
  // An alias is a separate name: it has no port.
  const port = config.hostKeyAlias === undefined ? config.port : 22;
  const found = findKnownKeys(readKnownHosts(files), host, port);
  const pinned = hostKeys.map((text) => {
    const key = parseHostKey(text);
    if (key) return key;
    const what = `host_key in the inventory is not a host key: ${text}`;
    throw new Unreachable(name, what, 'write it as: ssh-ed25519 AAAA…');
  });
  const listed = config.revokedHostKeys === undefined ? [] : readRevokedKeys(name, config.revokedHostKeys);
  const revoked = [...found.revoked, ...listed];
  return {
    label: nameOfHost(host, port),
    known: pinned.length > 0 ? { accepted: pinned, withoutPort: [], revoked } : { ...found, revoked },
    source: pinned.length > 0 ? 'host_key in the inventory' : (files[0] ?? 'known_hosts'),
    listed,
  };
}

function algorithmsFor(name: string, { algorithms }: SshConfig, { known }: Trust): readonly string[] {
  const types = [...known.accepted, ...known.withoutPort].flatMap(({ type }) =>
    type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type],
  );
  const wanted = algorithms.hostKeys;
  const allowed = wanted ? commonOf(name, 'HostKeyAlgorithms', wanted, supported) : supported;
  const first = allowed.filter((algorithm) => types.includes(algorithm));
  return [...first, ...allowed.filter((algorithm) => !first.includes(algorithm))];
}

/** Why a host's key is not trusted. */
function refusalOf(name: string, config: SshConfig, trust: Trust, shown: HostKey): Unreachable | undefined {
  const { label, known, source, listed } = trust;
  switch (hostKeyStatus(known, shown.blob)) {
    case 'unknown':
      return unknownKey(name, config, label, source, shown);
    case 'changed':
      return changedKey(name, label, source, known.accepted, shown);
    case 'revoked': {
      const isListed = listed.some((key) => key.blob.equals(shown.blob));
      const where = isListed ? `${config.revokedHostKeys} has this key` : `${source} marks this key @revoked`;
      const hint = `nothing was sent to it. ${where}; the host needs a new one`;
      return new Unreachable(name, `THE HOST KEY OF ${label} IS REVOKED: ${describeKey(shown)}`, hint);
    }
    case 'known': {
      const bits = rsaBits(shown.blob);
      if (bits === undefined || bits >= config.leastRsaBits) return undefined;
      const hint = `nothing was sent to it. RequiredRSASize of ssh_config is ${config.leastRsaBits}; the host needs another key`;
      return new Unreachable(name, `the host key of ${label} is an RSA key of ${bits} bits`, hint);
    }
  }
}

function unknownKey(
  name: string,
  config: SshConfig,
  label: string,
  file: string,
  shown: HostKey,
): Unreachable {
  const port = config.port === 22 ? '' : `-p ${config.port} `;
  // The format of ssh-keyscan.
  const type = /ed25519|ecdsa|rsa/.exec(shown.type)?.[0] ?? shown.type;
  return new Unreachable(
    name,
    `the host key of ${label} is not known, so it is not trusted: ${describeKey(shown)}`,
    `compare the fingerprint with that of \`ssh-keygen -lf /etc/ssh/ssh_host_${type}_key.pub\` on the host itself. If it is the same, either
    ssh-keyscan ${port}-t ${type} ${shellWord(config.host)} >> ${shellWord(file)}
  or put it into the inventory
    host_key: ${keyLine(shown)}`,
  );
}

function changedKey(name: string, label: string, source: string, known: readonly HostKey[], shown: HostKey) {
  return new Unreachable(
    name,
    `THE HOST KEY OF ${label} HAS CHANGED. Somebody may intercept the connection, or the host was installed again.
  shown: ${describeKey(shown)}
${known.map((key) => `  known: ${describeKey(key)}`).join('\n')}`,
    `nothing was sent to it. Find out which it is; if the host really has a new key, replace the old one (${source}) with
    ${keyLine(shown)}`,
  );
}

function describeKey({ type, blob }: HostKey): string {
  return `${type} ${fingerprint(blob)}`;
}

function keyLine({ type, blob }: HostKey): string {
  return `${type} ${blob.toString('base64')}`;
}
