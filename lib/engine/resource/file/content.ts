import { createHash } from 'node:crypto';
import { redact } from '../../secret/secret.ts';

/** What stands in a file, and how any version of it may be shown. */
export interface Content {
  readonly text: string;
  readonly holdsSecrets: boolean;
  /** Blanks secret-bearing lines in any version of the text, an older one on a host as well, so that a diff is safe. */
  mask(text: string): string;
}

/** Files up to here are shown as a text diff, larger ones by size and hash. Bytes. */
export const largestShown = 256 * 1024;

/** What stands for a secret in a masked text. */
export const blanked = '[secret]';

/**
 * Content that holds secrets.
 *
 * @param bearing matches every line that can hold a secret, in this version and in any other; of such a line only what stands
 *   before its first `=` or `:` is ever shown
 */
export function secretContent(text: string, bearing: RegExp): Content {
  const bears = new RegExp(bearing.source, bearing.flags.replace(/[gy]/g, ''));
  const maskLine = (line: string) => (bears.test(line) ? `${/^[^=:]*[=:] ?/.exec(line)?.[0] ?? ''}${blanked}` : line);
  return {
    text,
    holdsSecrets: true,
    mask: (version) => redact(version.split('\n').map(maskLine).join('\n')),
  };
}

/** The bytes as text, or undefined where they are no text that can be shown: not UTF-8, or with control characters. */
export function asText(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return /(?![\t\n\f\r])\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Hex. */
export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
