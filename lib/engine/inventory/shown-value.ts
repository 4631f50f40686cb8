import { redact } from '../secret/secret.ts';
import type { Path } from './located.ts';
import { secretReferencePattern } from './secret-reference.ts';

/** Of a value, in characters: a line is read at a glance. */
const mostShown = 100;

/** A key whose value may be a secret by its name. */
const secretKey = /pass(word|phrase)?|secret|token|api_?key|private_?key|auth|credential/i;

/** A reference within a text, which may have blanks and quotes in it. */
const reference = String.raw`\{\{[^{}]*\}\}`;

/** Any number of references, and of characters but some: no text fits in two ways, which takes long. */
const textWithout = (characters: string) =>
  String.raw`(?:${reference}|(?!${reference})[^\s"'${characters}])*`;

/**
 * An address within a text. Providers put keys into user names, paths and queries, so that only
 * the rest is shown. A password may hold an @: the host is behind the last one.
 */
const address = new RegExp(
  String.raw`([a-z][a-z0-9+.-]*:\/\/)(?:${textWithout('/?#')}@)?(${textWithout('/?#@')})([/?#]${textWithout('')})?`,
  'gi',
);

/**
 * A value of an inventory for a line of output, without what may be secret: the rest of an
 * address behind its host, and text under a key such as `token`. A reference to a secret is shown.
 */
export function shownValue(path: Path, value: unknown): string {
  const shown = withoutSecrets(path, value);
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  const whole = redact(text);
  return whole.length > mostShown ? `${whole.slice(0, mostShown)}…` : whole;
}

function withoutSecrets(path: Path, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, at) => withoutSecrets([...path, at], item));
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([key, inner]) => [key, withoutSecrets([...path, key], inner)]);
    return Object.fromEntries(fields);
  }
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'string' || secretReferencePattern.test(value)) return value;
  const key = path.findLast((step) => typeof step === 'string');
  if (secretKey.test(String(key))) return '[secret]';
  return value.replace(address, (_, scheme: string, host: string, rest = '') =>
    rest.length > 1 ? `${scheme}${host}/…` : `${scheme}${host}${rest}`,
  );
}
