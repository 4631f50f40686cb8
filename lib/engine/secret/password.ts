import { randomInt } from 'node:crypto';

const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** All that stands for itself in a URL (RFC 3986, "unreserved"), in TOML, JSON, YAML, SQL and a shell. */
const safe = `${alphanumeric}_.~-`;
/** 193 bits. */
const length = 32;

/** A password that nobody can guess. It begins with a letter or digit, so that no program takes it for an option. */
export function newPassword(): string {
  const pick = (from: string): string => from.charAt(randomInt(from.length));
  return pick(alphanumeric) + Array.from({ length: length - 1 }, () => pick(safe)).join('');
}
