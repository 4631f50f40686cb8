import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { typeOfBlob } from '../../secret/ssh-key-type.ts';
import { fitsInOrder } from '../../text/glob.ts';

/** A host key: its type (`ssh-ed25519`) and the whole blob, as it goes over the wire and as base64 in known_hosts. */
export interface HostKey {
  readonly type: string;
  readonly blob: Buffer;
}

/** What is known of one host's keys. */
export interface KnownKeys {
  readonly accepted: readonly HostKey[];
  readonly revoked: readonly HostKey[];
  /** Keys of the same address without its port: enough to accept the host, and no sign of a mismatch. */
  readonly withoutPort: readonly HostKey[];
}

/** What a shown key is, given what is known. */
export type HostKeyStatus = 'known' | 'unknown' | 'mismatch' | 'revoked';

/** Reads known_hosts files. One that is not there counts as empty, as it does for ssh. */
export async function readKnownHosts(files: readonly string[]): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return texts.join('\n');
}

/**
 * The keys that known_hosts entries hold for a host, as sshd(8) describes them: plain, `[host]:port`, patterns with `*`, `?`
 * and `!`, hashed entries, several names a line, `@revoked`. Certificates (`@cert-authority`) are not understood and are left
 * out.
 */
export function findKnownKeys(text: string, host: string, port: number): KnownKeys {
  const name = port === 22 ? host : `[${host}]:${port}`;
  const accepted: HostKey[] = [];
  const revoked: HostKey[] = [];
  const withoutPort: HostKey[] = [];
  for (const line of text.split('\n')) {
    const entry = parseEntry(line);
    if (!entry || entry.marker === '@cert-authority') continue;
    const named = matches(entry.hosts, name);
    const bare = port !== 22 && matches(entry.hosts, host);
    if (!named && !bare) continue;
    if (entry.marker === '@revoked') revoked.push(entry.key);
    else (named ? accepted : withoutPort).push(entry.key);
  }
  return { accepted, revoked, withoutPort };
}

/** @throws TypeError for what is no `ssh-ed25519 AAAA…` */
export function parseHostKey(text: string): HostKey {
  const [type = '', base64 = ''] = text.trim().split(/\s+/);
  const blob = Buffer.from(base64, 'base64');
  if (!type || typeOfBlob(blob) !== type) throw new TypeError('no host key as known_hosts has them: ssh-ed25519 AAAA…');
  return { type, blob };
}

export function hostKeyStatus(known: KnownKeys, blob: Buffer): HostKeyStatus {
  const isSame = (key: HostKey) => key.blob.equals(blob);
  if (known.revoked.some(isSame)) return 'revoked';
  if (known.accepted.some(isSame) || known.withoutPort.some(isSame)) return 'known';
  return known.accepted.length > 0 ? 'mismatch' : 'unknown';
}

/** `SHA256:…`, as ssh-keygen -l prints it. */
export function fingerprint(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

interface Entry {
  readonly marker: string | undefined;
  readonly hosts: string;
  readonly key: HostKey;
}

function parseEntry(line: string): Entry | undefined {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return undefined;
  const fields = text.split(/\s+/);
  const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
  const [hosts, type, base64] = fields;
  if (hosts === undefined || type === undefined || base64 === undefined) return undefined;
  return { marker, hosts, key: { type, blob: Buffer.from(base64, 'base64') } };
}

function matches(hosts: string, name: string): boolean {
  if (hosts.startsWith('|')) return matchesHash(hosts, name);
  const patterns = hosts.split(',');
  if (patterns.some((pattern) => pattern.startsWith('!') && matchesPattern(pattern.slice(1), name))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && matchesPattern(pattern, name));
}

/** `|1|salt|hash`: an HMAC-SHA1 of the name. */
function matchesHash(hosts: string, name: string): boolean {
  const [, version, salt, hash] = hosts.split('|');
  if (version !== '1' || salt === undefined || hash === undefined) return false;
  const wanted = Buffer.from(hash, 'base64');
  const own = createHmac('sha1', Buffer.from(salt, 'base64')).update(name.toLowerCase()).digest();
  return wanted.length === own.length && timingSafeEqual(wanted, own);
}

function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern
    .toLowerCase()
    .split(/\*+/)
    .map((piece) => piece.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('?', '.'));
  return fitsInOrder(name.toLowerCase(), pieces);
}
