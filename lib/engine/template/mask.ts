import { blanked, type Content, secretContent } from '../resource/file/content.ts';
import { redact } from '../secret/secret.ts';
import type { FormatName } from './format.ts';

/** Lines that can have a secret, in any version of a file. */
const secretLines = /passw|databaseurl|:\/\/[^\s/]*@/i;
const secretLinesOfSql = /passw|'/i;

/**
 * A PostgreSQL URL alone on its line, without characters that need an escape. A password with an @
 * or a / in it does not match, nor does anything after the database's name.
 */
const databaseUrl =
  /^(?!.*passw)(?<before>\s*"?[\w.-]+"?\s*[=:]\s*"?postgres(?:ql)?:\/\/[\w.~-]+:)[\w.~-]+(?<after>@[\w.~:[\]-]+\/[\w.~-]*"?,?\s*)$/i;

/**
 * A rendered file. Lines that can have a secret are masked even if none was inserted: a template
 * may have one as a constant. Of a database URL only the password is masked, so that a diff shows
 * a changed address.
 */
export function maskedContent(text: string, format: FormatName, holdsSecrets: boolean): Content {
  const whole = secretContent(text, format === 'sql' ? secretLinesOfSql : secretLines);
  const maskLine = (line: string): string => {
    const { before, after } = databaseUrl.exec(line)?.groups ?? {};
    return before === undefined || after === undefined
      ? whole.mask(line)
      : redact(`${before}${blanked}${after}`);
  };
  return { text, holdsSecrets, mask: (version) => version.split('\n').map(maskLine).join('\n') };
}
