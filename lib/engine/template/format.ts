import toml from '@iarna/toml';
import { parse as parseYaml } from 'yaml';
import { tokenizeSql } from './sql.ts';

/** How values get into one kind of file, and how that file is read back. */
export interface Format {
  /** A text value as it stands between the quotes of this format. */
  escape(value: string): string;
  /** A text value as the parser gives it back. */
  readBack(value: string): string;
  /** @throws whatever the parser throws */
  parse(text: string): unknown;
  /** Lines that can hold a secret, in any version of such a file. */
  readonly secretLines: RegExp;
}

export type FormatName = 'toml' | 'json' | 'compose' | 'sql';

const same = (value: string): string => value;
const unicode = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Inside double quotes JSON, TOML and YAML share these escapes. What some parser may not take raw is written as \uXXXX. */
function quoted(value: string): string {
  return JSON.stringify(value)
    .slice(1, -1)
    .replace(/[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g, unicode);
}

export const formats: Readonly<Record<FormatName, Format>> = {
  toml: { escape: quoted, readBack: same, parse: (text) => toml.parse(text), secretLines: /passw|:\/\/[^\s/]*@/i },
  json: {
    escape: quoted,
    readBack: same,
    parse: (text) => JSON.parse(text),
    secretLines: /passw|databaseurl|:\/\/[^\s/]*@/i,
  },
  compose: {
    // Compose replaces $NAME by an environment variable, after parsing; $$ is a dollar sign.
    escape: (value) => quoted(value.replaceAll('$', '$$$$')),
    readBack: (value) => value.replaceAll('$', '$$$$'),
    parse: (text) => parseYaml(text, { version: '1.1', uniqueKeys: true }),
    secretLines: /passw|:\/\/[^\s/]*@/i,
  },
  sql: {
    // One rule for literals and quoted identifiers: the quotes of both are doubled by what surrounds the value.
    escape: same,
    readBack: same,
    parse: tokenizeSql,
    secretLines: /passw|'/i,
  },
};

/** The format of a template, by its name. @throws TypeError for a name that no format knows */
export function formatOf(file: string): FormatName {
  if (file.endsWith('.toml')) return 'toml';
  if (file.endsWith('.json')) return 'json';
  if (file.endsWith('.sql')) return 'sql';
  if (/\.ya?ml$/.test(file)) return 'compose';
  throw new TypeError(`no format is known for ${file}`);
}
