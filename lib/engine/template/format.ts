import toml from '@iarna/toml';
import { parse as parseYaml } from 'yaml';
import { tokenizeSql } from './sql.ts';

export type FormatName = 'toml' | 'json' | 'compose' | 'sql';

/** Each throws its own error for invalid text. */
export const parsers: Readonly<Record<FormatName, (text: string) => unknown>> = {
  toml: (text) => toml.parse(text),
  json: (text) => JSON.parse(text),
  compose: (text) => parseYaml(text, { version: '1.1', uniqueKeys: true }),
  sql: tokenizeSql,
};

/**
 * A text between double quotes. JSON, TOML and YAML share these escapes; characters that some
 * parser refuses become \uXXXX.
 */
export function quoted(text: string): string {
  const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g, unicode);
}

/**
 * The format of a template, by its name.
 *
 * @throws TypeError for a name without a known ending
 */
export function formatOf(file: string): FormatName {
  const ending = /\.(toml|json|sql|ya?ml)$/.exec(file)?.[1];
  if (ending === undefined) throw new TypeError(`no format is known for ${file}`);
  return ending === 'yml' || ending === 'yaml' ? 'compose' : (ending as FormatName);
}
