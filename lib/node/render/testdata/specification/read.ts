import toml from '@iarna/toml';
import { isScalar, parseDocument } from 'yaml';

export interface FoundValue {
  /** As written: only numbers without a fraction and exponent are integers. */
  readonly type: string;
  readonly value: unknown;
}

/** Every value of a file by its path. */
export type FoundValues = ReadonlyMap<string, FoundValue>;

/**
 * @throws Error for invalid TOML, and for a duplicate key
 */
export function readToml(text: string): FoundValues {
  const written = numbersOfToml(text);
  return valuesOf(toml.parse(text), (path) => written.get(path.join('.')));
}

/**
 * @throws Error for invalid JSON, and for a duplicate key, for which JSON.parse would use the last
 * value
 */
export function readJson(text: string): FoundValues {
  return valuesOf(JSON.parse(text), numbersOfYaml(text, '1.2'));
}

/**
 * A Compose file, in Compose's format: YAML 1.1.
 *
 * @throws Error for invalid YAML, and for a duplicate key
 */
export function readCompose(text: string): FoundValues {
  return valuesOf(parseDocument(text, { version: '1.1' }).toJS(), numbersOfYaml(text, '1.1'));
}

type WrittenNumber = (path: readonly string[]) => string | undefined;

function valuesOf(file: unknown, numberAt: WrittenNumber): FoundValues {
  const found = new Map<string, FoundValue>();
  const visit = (value: unknown, path: readonly string[]): void => {
    const entries = isSection(value) ? Object.entries(value) : [];
    for (const [key, inner] of entries) visit(inner, [...path, key]);
    if (entries.length === 0) found.set(path.join('.'), { type: typeOf(value, () => numberAt(path)), value });
  };
  visit(file, []);
  return found;
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown, written: () => string | undefined): string {
  if (typeof value === 'number') return /^[+-]?\d+$/.test(written() ?? '') ? 'integer' : 'number';
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string') ? 'string list' : 'list';
  return isSection(value) ? 'empty section' : typeof value;
}

/** The parser gives 1 for 1.0 as well: only the lines themselves distinguish them. */
function numbersOfToml(text: string): Map<string, string> {
  const written = new Map<string, string>();
  let section = '';
  for (const line of text.split('\n')) {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1] ?? section;
    const [, key, value] = /^\s*([\w-]+)\s*=\s*([^\s#]+)/.exec(line) ?? [];
    if (key !== undefined && value !== undefined)
      written.set(section === '' ? key : `${section}.${key}`, value);
  }
  return written;
}

/** The same, of YAML and of JSON, which is YAML. */
function numbersOfYaml(text: string, version: '1.1' | '1.2'): WrittenNumber {
  const document = parseDocument(text, { version });
  if (document.errors[0]) throw document.errors[0];
  return (path) => {
    const node = document.getIn(path, true);
    return isScalar(node) ? node.source : undefined;
  };
}
