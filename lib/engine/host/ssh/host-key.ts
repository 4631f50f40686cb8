import type { ConnectionSettings } from '../../inventory/inventory.ts';
import { typeOfBlob } from '../../secret/ssh-key-fields.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { Unreachable } from '../connection-errors.ts';
import type { HostKey, KnownKeys } from './known-hosts.ts';
import {
  findKnownKeys,
  fingerprint,
  hostKeyStatus,
  knownHostsFaults,
  nameOfHost,
  parseHostKey,
  readKnownHosts,
} from './known-hosts.ts';
import type { Hop } from './link.ts';
import { readRevokedKeys } from './revoked-keys.ts';
import { rsaBits } from './rsa-bits.ts';
import { supportedHostKeys } from './ssh-algorithms.ts';
import type { SshConfig } from './ssh-config.ts';

/** `behind`: the jump hosts on the way to the host. */
type HostKeySettings = Pick<ConnectionSettings, 'hostKeys' | 'knownHostsFile'> & Partial<Pick<Hop, 'behind'>>;

/** A key as a host shows it, by OpenSSH without the key itself. */
interface ShownKey extends Pick<HostKey, 'type'> {
  readonly fingerprint: string;
  readonly blob?: Buffer;
}

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
    algorithms: algorithmsFor(config, trust),
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
  /** Where the accepted keys are: the inventory, or a file. */
  readonly source: string;
  /** The file that can take a new key. */
  readonly file: string | undefined;
  /** Why a key that was written down is not known, in sentences. */
  faults(): readonly string[];
  /** The jump hosts on the way to it. */
  readonly behind: readonly string[];
  /** Keys in the file of RevokedHostKeys. */
  readonly listed: readonly HostKey[];
}

function trustOf(
  name: string,
  config: SshConfig,
  { hostKeys, knownHostsFile, behind = [] }: HostKeySettings,
): Trust {
  const files = knownHostsFile === undefined ? config.knownHostsFiles : [knownHostsFile];
  const host = config.hostKeyAlias ?? config.host;
  // An alias is a separate name: it has no port.
  const port = config.hostKeyAlias === undefined ? config.port : 22;
  const found = findKnownKeys(readKnownHosts(files), host, port);
  const pinned = pinnedKeys(name, hostKeys);
  // ssh_config names this one where no key is to be kept.
  const file = files.find((path) => path !== '/dev/null');
  const listed = config.revokedHostKeys === undefined ? [] : readRevokedKeys(name, config.revokedHostKeys);
  const revoked = [...found.revoked, ...listed];
  return {
    label: nameOfHost(host, port),
    known: pinned.length > 0 ? { accepted: pinned, withoutPort: [], revoked } : { ...found, revoked },
    source: pinned.length > 0 ? 'host_key in the inventory' : (file ?? 'known_hosts'),
    file,
    faults: () => (pinned.length > 0 ? [] : knownHostsFaults(files, host, port)),
    behind,
    listed,
  };
}

/**
 * @param name the host in errors
 * @throws Unreachable for what is no key
 */
export function pinnedKeys(name: string, hostKeys: readonly string[]): readonly HostKey[] {
  return hostKeys.map((text) => {
    const key = parseHostKey(text);
    if (key) return key;
    const what = `host_key in the inventory is not a host key: ${text}`;
    throw new Unreachable(name, what, 'write it as: ssh-ed25519 AAAA…');
  });
}

/**
 * Why OpenSSH does not trust the certificate of a host, which a known authority signed. Advice to
 * trust its key would go around the authority.
 *
 * @param why the words of ssh
 */
export function invalidCertificate(
  hop: HostKeySettings & { readonly name: string; readonly config: SshConfig },
  why: string,
): Unreachable {
  const { name, config } = hop;
  const { label } = trustOf(name, { ...config, revokedHostKeys: undefined }, hop);
  const renewal = /principal/.test(why)
    ? `its authority has to make one for the name ${config.hostKeyAlias ?? config.host}`
    : 'if the clock of this machine is right, its authority has to renew it';
  return new Unreachable(
    name,
    `the certificate of ${label} is not valid, so its key is not trusted\n  ssh of this machine says: ${why}`,
    `nothing was sent to it. The certificate is the file of HostCertificate in its sshd_config; ${renewal}`,
  );
}

/** Why OpenSSH does not trust the key of a host. */
export function refusedKey(
  hop: HostKeySettings & { readonly name: string; readonly config: SshConfig },
  status: 'revoked' | 'changed' | 'unknown',
  shown: ShownKey,
): Unreachable {
  const { name, config } = hop;
  // A list of revoked keys in another format was read by ssh.
  const trust = trustOf(name, { ...config, revokedHostKeys: undefined }, hop);
  switch (status) {
    case 'unknown':
      return unknownKey(name, config, trust, shown);
    case 'changed':
      return changedKey(name, trust, shown);
    case 'revoked': {
      const files = [config.revokedHostKeys ?? [], trust.source].flat().join(' or ');
      return revokedKey(name, trust, shown, `${files} has it`);
    }
  }
}

function algorithmsFor({ algorithms }: SshConfig, { known }: Trust): readonly string[] {
  const types = [...known.accepted, ...known.withoutPort].flatMap(({ type }) =>
    type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type],
  );
  const allowed = algorithms.hostKeys ?? supportedHostKeys;
  const first = allowed.filter((algorithm) => types.includes(algorithm));
  return [...first, ...allowed.filter((algorithm) => !first.includes(algorithm))];
}

/** Why a host's key is not trusted. */
function refusalOf(name: string, config: SshConfig, trust: Trust, key: HostKey): Unreachable | undefined {
  const { label, known, source, listed } = trust;
  const shown = { ...key, fingerprint: fingerprint(key.blob) };
  switch (hostKeyStatus(known, key.blob)) {
    case 'unknown':
      return unknownKey(name, config, trust, shown);
    case 'changed':
      return changedKey(name, trust, shown);
    case 'revoked': {
      const isListed = listed.some(({ blob }) => blob.equals(key.blob));
      const where = isListed ? `${config.revokedHostKeys} has this key` : `${source} marks this key @revoked`;
      return revokedKey(name, trust, shown, where);
    }
    case 'known': {
      const bits = rsaBits(key.blob);
      if (bits === undefined || bits >= config.leastRsaBits) return undefined;
      const hint = `nothing was sent to it. RequiredRSASize of ssh_config is ${config.leastRsaBits}; the host needs another key`;
      return new Unreachable(name, `the host key of ${label} is an RSA key of ${bits} bits`, hint);
    }
  }
}

function revokedKey(name: string, { label }: Trust, shown: ShownKey, where: string): Unreachable {
  const hint = `nothing was sent to it. ${where}; the host needs a new one`;
  return new Unreachable(name, `THE HOST KEY OF ${label} IS REVOKED: ${describeKey(shown)}`, hint);
}

function unknownKey(name: string, config: SshConfig, trust: Trust, shown: ShownKey): Unreachable {
  const { label, file } = trust;
  const faults = trust.faults().map((fault) => `\n  ${fault}`);
  // The format of ssh-keyscan.
  const type = /ed25519|ecdsa|rsa/.exec(shown.type)?.[0] ?? shown.type;
  const scan =
    file === undefined ? '' : `either\n    ${scanOf(config, trust, type)} >> ${shellWord(file)}\n  or `;
  return new Unreachable(
    name,
    `the host key of ${label} is not known, so it is not trusted: ${describeKey(shown)}${faults.join('')}`,
    `compare the fingerprint with that of \`ssh-keygen -lf /etc/ssh/ssh_host_${type}_key.pub\` on the host itself. If it is the same, ${scan}put it into the inventory
    host_key: ${shownLine(shown)}`,
  );
}

/** Prints the key of a host as known_hosts has it. */
function scanOf({ host, port, hostKeyAlias }: SshConfig, { behind }: Trust, type: string): string {
  const jump = behind.at(-1);
  const others = behind.slice(0, -1);
  const chain = others.length > 0 ? `-J ${shellWord(others.join(','))} ` : '';
  // The address may be another machine here, or none.
  const there = jump === undefined ? '' : `ssh ${chain}${shellWord(`ssh://${jump}`)} `;
  const scan = `${there}ssh-keyscan ${port === 22 ? '' : `-p ${port} `}-t ${type} ${shellWord(host)}`;
  // It prints the address in front, and comments.
  return hostKeyAlias === undefined ? scan : `${scan} | sed ${shellWord(`s/^[^# ][^ ]*/${hostKeyAlias}/`)}`;
}

function changedKey(name: string, { label, source, known }: Trust, shown: ShownKey): Unreachable {
  return new Unreachable(
    name,
    `THE HOST KEY OF ${label} HAS CHANGED. Somebody may intercept the connection, or the host was installed again.
  shown: ${describeKey(shown)}
${known.accepted.map((key) => `  known: ${describeKey({ ...key, fingerprint: fingerprint(key.blob) })}`).join('\n')}`,
    `nothing was sent to it. Find out which it is; if the host really has a new key, replace the old one (${source}) with
    ${shownLine(shown)}`,
  );
}

function describeKey(shown: ShownKey): string {
  return `${shown.type} ${shown.fingerprint}`;
}

function shownLine({ type, blob }: ShownKey): string {
  return blob ? keyLine({ type, blob }) : `${type} AAAA…, the line of ssh-keyscan`;
}

/** A key as known_hosts and the inventory have it. */
export function keyLine({ type, blob }: HostKey): string {
  return `${type} ${blob.toString('base64')}`;
}
