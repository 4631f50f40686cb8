import { blanked, type Content, withoutValue } from '../resource/file/content.ts';
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

/** An address, and what follows its host: a path or a query, in which providers put keys. */
const address = /(?<before>\b\w+:\/\/[^\s"/?#\\]*)(?<after>(?:[^\s"\\]|\\.)*)/g;
const keyOfAddress = /^\s*(?:- )?"?[\w.-]+"?\s*[=:]\s*"?\w+:\/\//;

/**
 * A rendered file. What may be a secret is masked even if none was inserted: a template may have one
 * as a constant, and an older version has one that nobody knows any more. Of a database URL only
 * the password is masked, and of another address what follows its host, so that a diff shows a
 * changed host. A key that has a secret in this text shows no value in any version.
 */
export function maskedContent(text: string, format: FormatName, holdsSecrets: boolean): Content {
  const secretsOf = format === 'sql' ? secretLinesOfSql : secretLines;
  const masking = (whole: ReadonlySet<string>, inAddress: ReadonlySet<string>) => (line: string) => {
    const { before, after } = databaseUrl.exec(line)?.groups ?? {};
    if (before !== undefined && after !== undefined) return `${before}${blanked}${after}`;
    const key = keyIn(line);
    const isHidden = whole.has(key) || (inAddress.has(key) && !keyOfAddress.test(line));
    return secretsOf.test(line) || isHidden ? withoutValue(line) : withoutPaths(line);
  };
  return {
    text,
    holdsSecrets,
    mask: (version) => {
      const mask = masking(keysWithSecrets(text, withoutPaths), keysWithSecrets(text));
      return redact(version.split('\n').map(mask).join('\n'));
    },
  };
}

function withoutPaths(line: string): string {
  return line.replaceAll(address, (found, before: string, after: string) =>
    after === '' || after === '/' ? found : `${before}/${blanked}`,
  );
}

/** The key of a line; an empty text without one. */
function keyIn(line: string): string {
  return /^\s*(?:- )?"?([\w.-]+)"?\s*[=:]/.exec(line)?.[1] ?? '';
}

/**
 * The keys whose value has a known secret.
 *
 * @param shown the part of a line to look at
 */
function keysWithSecrets(text: string, shown = (line: string) => line): Set<string> {
  const lines = text.split('\n').filter((line) => {
    const part = shown(line);
    return redact(part) !== part;
  });
  return new Set(lines.map(keyIn).filter((key) => key !== ''));
}
