import { blanked, type Content, secretContent } from '../resource/file/content.ts';
import { redact } from '../secret/secret.ts';
import type { FormatName } from './format.ts';

/** Lines that can hold a secret, in any version of a file. */
const secretLines = /passw|databaseurl|:\/\/[^\s/]*@/i;
const secretLinesOfSql = /passw|'/i;

/**
 * A PostgreSQL URL alone on its line, all its parts of characters that need no escape. A password with an @ or a / in it does not
 * match, and neither does anything after the database's name.
 */
const databaseUrl =
  /^(?!.*passw)(?<before>\s*"?[\w.-]+"?\s*[=:]\s*"?postgres(?:ql)?:\/\/[\w.~-]+:)[\w.~-]+(?<after>@[\w.~:[\]-]+\/[\w.~-]*"?,?\s*)$/i;

/**
 * A rendered file. Lines that can hold a secret are masked even if no secret was put in: a template may hold one as a constant. Of
 * a database URL only the password is masked, so that a diff shows a changed address.
 */
export function maskedContent(text: string, format: FormatName, holdsSecrets: boolean): Content {
  const whole = secretContent(text, format === 'sql' ? secretLinesOfSql : secretLines);
  const maskLine = (line: string): string => {
    const { before, after } = databaseUrl.exec(line)?.groups ?? {};
    return before === undefined || after === undefined ? whole.mask(line) : redact(`${before}${blanked}${after}`);
  };
  return { text, holdsSecrets, mask: (version) => version.split('\n').map(maskLine).join('\n') };
}
