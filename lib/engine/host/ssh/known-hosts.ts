import { createHash, createHmac } from 'node:crypto';
import { isWholeBlob, typeOfBlob } from '../../secret/ssh-key-fields.ts';
import { fitsInOrder } from '../../text/glob.ts';
import { readText, whyUnreadable } from './read-text.ts';

/**
 * A host key: its type (`ssh-ed25519`) and the whole blob, as it goes over the wire and as base64
 * in known_hosts.
 */
export interface HostKey {
  readonly type: string;
  readonly blob: Buffer;
}

/**
 * The known keys of one host. Those of its address without its port are enough to accept it, and
 * no sign of a mismatch.
 */
export type KnownKeys = Readonly<Record<'accepted' | 'revoked' | 'withoutPort', readonly HostKey[]>>;

/** Reads known_hosts files. A missing one counts as empty, as it does for ssh. */
export function readKnownHosts(files: readonly string[]): string {
  return files.map((file) => readText(file) ?? '').join('\n');
}

/**
 * The keys of a host in known_hosts, as sshd(8) describes it: plain, `[host]:port`, patterns with
 * `*`, `?` and `!`, hashed entries, several names a line, `@revoked`. Authorities of certificates
 * are left out.
 */
export function findKnownKeys(text: string, host: string, port: number): KnownKeys {
  const name = nameOfHost(host, port);
  const found: Record<keyof KnownKeys, HostKey[]> = { accepted: [], revoked: [], withoutPort: [] };
  for (const line of text.split('\n')) {
    const { marker, hosts, key } = fieldsOf(line);
    if (hosts.startsWith('#') || marker === '@cert-authority') continue;
    const isNamed = matches(hosts, name);
    if (!isNamed && !matches(hosts, host)) continue;
    const known = key();
    if (!known) continue;
    const usable = isNamed ? 'accepted' : 'withoutPort';
    const list = marker === '@revoked' ? 'revoked' : usable;
    found[list].push(known);
  }
  return found;
}

/**
 * A line of known_hosts. `key` returns undefined for what is no key, which ssh passes over; few lines
 * are about the host.
 */
function fieldsOf(line: string) {
  const fields = line.trim().split(/\s+/);
  const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
  const [hosts = '', ...words] = fields;
  return { marker, hosts, key: () => parseHostKey(words.join(' ')) };
}

/**
 * Why a key that was written down is not known, in sentences: files that cannot be read, and lines
 * about the host that hold no key, such as cut ones.
 */
export function knownHostsFaults(files: readonly string[], host: string, port: number): readonly string[] {
  const names = [nameOfHost(host, port), host];
  return files.flatMap((file) => {
    const why = whyUnreadable(file);
    if (why !== undefined) return [`${file} ${why}`];
    return readKnownHosts([file])
      .split('\n')
      .flatMap((line, at) => {
        const { hosts, key } = fieldsOf(line);
        const isAbout = !hosts.startsWith('#') && names.some((name) => matches(hosts, name));
        return isAbout && !key() ? [`${file}:${at + 1} is about this host, and holds no whole key`] : [];
      });
  });
}

/** Whether an authority of certificates may vouch for the host (`@cert-authority`). */
export function hasAuthority(text: string, host: string, port: number): boolean {
  return text.split('\n').some((line) => {
    const { marker, hosts } = fieldsOf(line);
    const names = [nameOfHost(host, port), host];
    return marker === '@cert-authority' && names.some((name) => matches(hosts, name));
  });
}

/** A host as known_hosts names it. */
export function nameOfHost(host: string, port: number): string {
  return port === 22 ? host : `[${host}]:${port}`;
}

/**
 * @returns undefined for anything but `ssh-ed25519 AAAA…`
 */
export function parseHostKey(text: string): HostKey | undefined {
  const [type = '', base64 = ''] = text.trim().split(/\s+/);
  const blob = Buffer.from(base64, 'base64');
  return type && typeOfBlob(blob) === type && isWholeBlob(blob) ? { type, blob } : undefined;
}

/** The result of looking up a host's key. */
export function hostKeyStatus(known: KnownKeys, blob: Buffer): 'known' | 'unknown' | 'changed' | 'revoked' {
  const isSame = (key: HostKey) => key.blob.equals(blob);
  if (known.revoked.some(isSame)) return 'revoked';
  if (known.accepted.some(isSame) || known.withoutPort.some(isSame)) return 'known';
  return known.accepted.length > 0 ? 'changed' : 'unknown';
}

/** `SHA256:…`, as ssh-keygen -l prints it. */
export function fingerprint(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

function matches(hosts: string, name: string): boolean {
  if (hosts.startsWith('|')) return matchesHash(hosts, name);
  const patterns = hosts.split(',');
  if (patterns.some((pattern) => pattern.startsWith('!') && matchesPattern(pattern.slice(1), name)))
    return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && matchesPattern(pattern, name));
}

/** `|1|salt|hash`: an HMAC-SHA1 of the name. */
function matchesHash(hosts: string, name: string): boolean {
  const [, version, salt = '', hash = ''] = hosts.split('|');
  const own = createHmac('sha1', Buffer.from(salt, 'base64')).update(name.toLowerCase()).digest();
  return version === '1' && own.equals(Buffer.from(hash, 'base64'));
}

function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern
    .toLowerCase()
    .split(/\*+/)
    .map((piece) => piece.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('?', '.'));
  return fitsInOrder(name.toLowerCase(), pieces);
}
