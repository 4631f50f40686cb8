import toml from '@iarna/toml';
import { parse as parseYaml } from 'yaml';
import { tokenizeSql } from './sql.ts';

/** How a template of one format is read. */
interface Format {
  /** @throws whatever the parser throws */
  parse(text: string): unknown;
  /** Lines that can hold a secret, in any version of such a file. */
  readonly secretLines: RegExp;
}

export type FormatName = 'toml' | 'json' | 'compose' | 'sql';

export const formats: Readonly<Record<FormatName, Format>> = {
  toml: { parse: (text) => toml.parse(text), secretLines: /passw|:\/\/[^\s/]*@/i },
  json: { parse: (text) => JSON.parse(text), secretLines: /passw|databaseurl|:\/\/[^\s/]*@/i },
  compose: {
    parse: (text) => parseYaml(text, { version: '1.1', uniqueKeys: true }),
    secretLines: /passw|:\/\/[^\s/]*@/i,
  },
  sql: { parse: tokenizeSql, secretLines: /passw|'/i },
};

/** A text between double quotes. JSON, TOML and YAML share these escapes; what some parser refuses raw becomes \uXXXX. */
export function quoted(text: string): string {
  const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g, unicode);
}

/** The format of a template, by its name. @throws TypeError for a name without a known ending */
export function formatOf(file: string): FormatName {
  if (file.endsWith('.toml')) return 'toml';
  if (file.endsWith('.json')) return 'json';
  if (file.endsWith('.sql')) return 'sql';
  if (/\.ya?ml$/.test(file)) return 'compose';
  throw new TypeError(`no format is known for ${file}`);
}
