import { randomInt } from 'node:crypto';

const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/**
 * Characters without a special meaning in a URL (RFC 3986, "unreserved"), in TOML, JSON, YAML, SQL
 * and a shell.
 */
const safe = `${alphanumeric}_.~-`;
/** 193 bits. */
const length = 32;

/**
 * A random password. It begins with a letter or digit, so that no program takes it for an option.
 */
export function newPassword(): string {
  const pick = (from: string): string => from.charAt(randomInt(from.length));
  return pick(alphanumeric) + Array.from({ length: length - 1 }, () => pick(safe)).join('');
}
