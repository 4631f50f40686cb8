import { createHash } from 'node:crypto';
import { redact } from '../../secret/secret.ts';

/** The content of a file, and the part of any version of it that may be shown. */
export interface Content {
  readonly text: string;
  readonly holdsSecrets: boolean;
  /**
   * Masks the secrets in any version of the text, also in an older one on a host, so that a diff
   * is safe.
   */
  mask(text: string): string;
}

/** Larger files are shown by size and hash instead of a diff. Bytes. */
export const largestShown = 256 * 1024;

/** Replaces a secret in a masked text. */
export const blanked = '[secret]';

/**
 * Content with secrets.
 *
 * @param bearing matches each line that can hold one, in any version: only its key, up to `=` or
 * `:`, is shown
 */
export function secretContent(text: string, bearing: RegExp): Content {
  const bears = new RegExp(bearing.source, bearing.flags.replace(/[gy]/g, ''));
  const maskLine = (line: string) => (bears.test(line) ? withoutValue(line) : line);
  return {
    text,
    holdsSecrets: true,
    mask: (version) => redact(version.split('\n').map(maskLine).join('\n')),
  };
}

/** A line with only its key, up to `=` or `:`. */
export function withoutValue(line: string): string {
  return `${/^[^=:]*[=:] ?/.exec(line)?.[0] ?? ''}${blanked}`;
}

/** The bytes as text; undefined if they are not UTF-8 or have control characters. */
export function asText(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return /(?![\t\n\f\r])\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Hex. */
export function sha256Of(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
