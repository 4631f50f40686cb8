import ssh2, { type ParsedKey } from 'ssh2';
import { readText } from './read-text.ts';

/** A key of a file. `key` is missing if the file has no private key that can be used; `why` has the reason, where there is a file. */
export interface KeyFile {
  readonly path: string;
  readonly key: ParsedKey | undefined;
  readonly publicKey: Buffer | undefined;
  readonly why: string | undefined;
}

export const lockedKey = 'is locked with a passphrase';

/**
 * Reads a key as ssh does: a private key, or the public one of a key that an agent holds, in this file or beside it with `.pub`.
 *
 * @returns undefined where there is neither
 */
export function readKeyFile(path: string): KeyFile | undefined {
  const text = readText(path);
  const beside = () => publicKeyIn(readText(`${path}.pub`) ?? '');
  if (text === undefined) {
    const publicKey = beside();
    return (
      publicKey && { path, key: undefined, publicKey, why: 'has no private key here, and the agent does not hold it' }
    );
  }
  const parsed = parseKey(text);
  if (!(parsed instanceof Error)) {
    const publicKey = publicBlob(parsed);
    if (parsed.isPrivateKey()) return { path, key: parsed, publicKey, why: undefined };
    return { path, key: undefined, publicKey, why: 'is a public key, and the agent does not hold its private key' };
  }
  const why = /passphrase/i.test(parsed.message) ? lockedKey : `cannot be used: ${parsed.message}`;
  return { path, key: undefined, publicKey: publicPartOf(text) ?? beside(), why };
}

/** The public blob of a key, as the protocol has it. */
export function publicBlob(key: ParsedKey): Buffer {
  return Buffer.from(key.getPublicSSH());
}

function publicKeyIn(text: string): Buffer | undefined {
  const parsed = parseKey(text);
  return parsed instanceof Error ? undefined : publicBlob(parsed);
}

/** A private key of OpenSSH has its public part in clear, also where a passphrase locks it. */
function publicPartOf(text: string): Buffer | undefined {
  const body = /^-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/m.exec(text)?.[1];
  const bytes = Buffer.from(body ?? '', 'base64');
  const magic = 'openssh-key-v1\0';
  if (bytes.toString('latin1', 0, magic.length) !== magic) return undefined;
  let at = magic.length;
  const field = () => {
    if (at + 4 > bytes.length) return Buffer.alloc(0);
    const start = at + 4;
    at = start + bytes.readUInt32BE(at);
    return bytes.subarray(start, at);
  };
  // The cipher, how the passphrase becomes its key, and the options of that; then the number of keys, which is 1.
  for (let skipped = 0; skipped < 3; skipped += 1) field();
  at += 4;
  const blob = field();
  return blob.length > 0 ? Buffer.from(blob) : undefined;
}

/** By their text: the logins at all hosts use the same few. */
const parsedKeys = new Map<string, ParsedKey | Error>();

function parseKey(text: string): ParsedKey | Error {
  const parsed = parsedKeys.get(text) ?? firstOf(ssh2.utils.parseKey(text));
  parsedKeys.set(text, parsed);
  return parsed;
}

/** The library's types know of one key where an older format may hold several. */
function firstOf(parsed: ParsedKey | ParsedKey[] | Error): ParsedKey | Error {
  return Array.isArray(parsed) ? (parsed[0] as ParsedKey) : parsed;
}
