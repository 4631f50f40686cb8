import { blanked, type Content, secretContent } from '../resource/file/content.ts';
import { redact } from '../secret/secret.ts';

/**
 * A PostgreSQL URL that stands alone on its line, every part of it of characters that need no escape. A password with an @ or a /
 * in it does not match, and neither does anything behind the database's name.
 */
const databaseUrl =
  /^(?!.*passw)(?<before>\s*"?[\w.-]+"?\s*[=:]\s*"?postgres(?:ql)?:\/\/[\w.~-]+:)[\w.~-]+(?<after>@[\w.~:[\]-]+\/[\w.~-]*"?,?\s*)$/i;

/**
 * A rendered file. Lines that can hold a secret are blanked whether a secret was put in or not: a template may hold one as a
 * constant. Of a database URL only the password is, so that a diff shows where the database has moved to.
 *
 * @param bearing matches every line that can hold a secret
 */
export function maskedContent(text: string, bearing: RegExp, holdsSecrets: boolean): Content {
  const whole = secretContent(text, bearing);
  const maskLine = (line: string): string => {
    const { before, after } = databaseUrl.exec(line)?.groups ?? {};
    return before === undefined || after === undefined ? whole.mask(line) : redact(`${before}${blanked}${after}`);
  };
  return { text, holdsSecrets, mask: (version) => version.split('\n').map(maskLine).join('\n') };
}
