import { sshKeyFields } from '../../secret/ssh-key-fields.ts';
import { readable } from '../../text/printable.ts';
import { readText } from './read-text.ts';

/** Fields before the serial number: the type, a nonce, and those of the key (PROTOCOL.certkeys). */
const fieldsBefore: readonly (readonly [RegExp, number])[] = [
  [/^ssh-ed25519-cert-/, 3],
  [/^(ecdsa-sha2-|ssh-rsa-cert-|sk-ssh-ed25519-cert-)/, 4],
  [/^sk-ecdsa-sha2-/, 5],
];

/** The last time that a Date can have. Seconds. */
const endOfTime = 8.64e12;

/**
 * Why the certificate beside a key is refused by a server, as far as this machine can tell.
 *
 * @param path of the key
 * @param user who logs in
 * @returns undefined for a valid certificate, and where none can be read
 */
export function certificateFault(path: string, user: string): string | undefined {
  const file = `${path}-cert.pub`;
  const [type = '', body = ''] = (readText(file) ?? '').trim().split(/\s+/);
  const count = fieldsBefore.find(([pattern]) => pattern.test(type))?.[1];
  if (count === undefined) return undefined;
  const key = sshKeyFields(Buffer.from(body, 'base64'), count);
  // The serial number and the kind of certificate; then its name and its principals.
  const { fields, rest } = sshKeyFields(key.rest.subarray(12), 2);
  if (rest.length < 16) return undefined;
  const [from, to] = [Number(rest.readBigUInt64BE(0)), Number(rest.readBigUInt64BE(8))];
  const now = Date.now() / 1000;
  if (to <= now) return `${file} expired at ${timeOf(to)}`;
  if (from > now) return `${file} is not valid before ${timeOf(from)}`;
  const principals = sshKeyFields(fields[1] ?? Buffer.alloc(0), Number.POSITIVE_INFINITY).fields.map(String);
  // Without a name it is for everybody by a line of authorized_keys, and for nobody by
  // TrustedUserCAKeys.
  if (principals.length === 0 || principals.includes(user)) return undefined;
  return `${file} is for ${readable(principals.join(', '))} and not for ${user}, unless the principals of its sshd say otherwise`;
}

function timeOf(seconds: number): string {
  return new Date(Math.min(seconds, endOfTime) * 1000).toISOString().replace('.000Z', 'Z');
}
