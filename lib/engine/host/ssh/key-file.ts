import ssh2, { type ParsedKey } from 'ssh2';
import { keyModeFault } from '../../file/private-file.ts';
import { openSshKey, publicPartOf } from '../../secret/ssh-key-fields.ts';
import { readText } from './read-text.ts';

/**
 * A key of a file. `key` is missing if the file has no private key that can be used; `why` has the
 * reason, where there is a file.
 */
export interface KeyFile {
  readonly path: string;
  readonly key: ParsedKey | undefined;
  readonly publicKey: Buffer | undefined;
  readonly why: string | undefined;
  /** What to do about it, where the reason does not say so. */
  readonly hint?: string | undefined;
}

export const lockedKey = 'is locked with a passphrase';

/**
 * Reads a key as ssh does: a private key, or the public one of a key that an agent holds, in this
 * file or beside it with `.pub`.
 *
 * @returns undefined where there is neither
 */
export function readKeyFile(path: string): KeyFile | undefined {
  const text = readText(path);
  const beside = () => publicKeyIn(readText(`${path}.pub`) ?? '');
  if (text === undefined) {
    const publicKey = beside();
    return (
      publicKey && {
        path,
        key: undefined,
        publicKey,
        why: 'has no private key here, and the agent does not hold it',
      }
    );
  }
  const tooOpen = keyModeFault(path, text);
  if (tooOpen) {
    const { message: why, hint } = tooOpen;
    return { path, key: undefined, publicKey: publicBlobIn(text) ?? beside(), why, hint };
  }
  const parsed = parseKey(text);
  if (!(parsed instanceof Error)) {
    const publicKey = publicBlob(parsed);
    if (parsed.isPrivateKey()) return { path, key: parsed, publicKey, why: undefined };
    return {
      path,
      key: undefined,
      publicKey,
      why: 'is a public key, and the agent does not hold its private key',
    };
  }
  const why =
    /passphrase/i.test(parsed.message) || isLockedPkcs8(text)
      ? lockedKey
      : `cannot be used: ${parsed.message}`;
  return { path, key: undefined, publicKey: publicBlobIn(text) ?? beside(), why };
}

/** Whether a text is a private key that a passphrase locks, in a format that OpenSSH alone reads. */
export function isLockedPkcs8(text: string): boolean {
  return /^-----BEGIN ENCRYPTED PRIVATE KEY-----$/m.test(text);
}

/** The public blob of a key, as the protocol has it. */
export function publicBlob(key: ParsedKey): Buffer {
  return Buffer.from(key.getPublicSSH());
}

function publicKeyIn(text: string): Buffer | undefined {
  const parsed = parseKey(text);
  return parsed instanceof Error ? undefined : publicBlob(parsed);
}

/** The public blob of a private key that cannot be used, such as one that a passphrase locks. */
function publicBlobIn(text: string): Buffer | undefined {
  const key = openSshKey(text);
  const blob = key && publicPartOf(key)?.blob;
  return blob?.length ? blob : undefined;
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
