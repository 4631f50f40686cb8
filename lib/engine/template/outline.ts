import { Problem } from '../problem/problem.ts';
import { placeOf, type Source } from './source.ts';

/** The type of a value in a template. A duration is text with a unit, as Go reads it. */
export type Kind = 'boolean' | 'whole number' | 'number' | 'duration' | 'text' | 'list';

/** One value of a template. */
export interface Leaf {
  readonly kind: Kind;
  /** Type of a list's values; undefined for an empty list. */
  readonly items: Kind | undefined;
  /** Its text, quotes and braces included, and its offsets. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Names in double braces: the variables that the value comes from. */
  readonly slots: readonly string[];
}

/** A table of a TOML file, or all of a flat JSON file, with its keys in their order. */
export interface Section {
  readonly keys: Map<string, Leaf | Section>;
  /** The end of the line of its header or its last value; undefined if it has neither. */
  end: number | undefined;
}

/** The entry of a path such as `['RPC', 'WebSockets', 'Port']`, or undefined. */
export function entryAt(top: Section, path: readonly string[]): Leaf | Section | undefined {
  return path.reduce<Leaf | Section | undefined>(
    (at, key) => (isSection(at) ? at.keys.get(key) : undefined),
    top,
  );
}

export function isSection(entry: Leaf | Section | undefined): entry is Section {
  return entry !== undefined && 'keys' in entry;
}

/** A scalar of TOML, or braces. Those of JSON are included. */
const scalar = [
  String.raw`"(?:[^"\\]|\\.)*"`,
  `'[^']*'`,
  'true|false',
  String.raw`0x[\dA-Fa-f_]+|0o[0-7_]+|0b[01_]+`,
  String.raw`[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?`,
  String.raw`\{\{[^{}]*\}\}`,
].join('|');
const value = String.raw`(?<value>${scalar}|\[\s*(?:(?:${scalar})\s*(?:,\s*(?:${scalar})\s*)*,?\s*)?\])`;
const syntax = {
  toml: {
    entry: new RegExp(String.raw`^(?<before>\s*(?<key>[\w-]+)\s*=\s*)${value}\s*(?:#.*)?$`),
    header: /^\s*\[\s*(?<name>[\w.-]+)\s*\]\s*(?:#.*)?$/,
    empty: /^\s*(#.*)?$/,
  },
  json: {
    entry: new RegExp(String.raw`^(?<before>\s*"(?<key>[^"]+)"\s*:\s*)${value}\s*,?\s*$`),
    // A flat file has no sections.
    header: /(?!)/,
    empty: /^\s*[{}]?\s*$/,
  },
};

/**
 * Reads the sections and values of a TOML or flat JSON template with one value a line. A value can
 * then be replaced in its place, and everything around it stays, comments too.
 *
 * @throws Problem with the place of the first line that is anything else
 */
export function outlineOf(template: string, source: Source): Section {
  const { entry, header, empty } = syntax[source.format === 'toml' ? 'toml' : 'json'];
  const top: Section = { keys: new Map(), end: undefined };
  let section = top;
  let offset = 0;
  for (const line of template.split('\n')) {
    const name = header.exec(line)?.groups?.name;
    const found = entry.exec(line)?.groups;
    const end = offset + line.length;
    if (name !== undefined) {
      section = sectionAt(top, name.split('.'));
      section.end = end;
    } else if (found) {
      section.keys.set(found.key ?? '', leafOf(found.value ?? '', offset + (found.before?.length ?? 0)));
      section.end = end;
    } else if (!empty.test(line)) {
      throw new Problem('this line is not one key with its value', {
        where: placeOf(template, offset, source.file),
        hint: 'overrides from the inventory need templates with one key and value on each line',
      });
    }
    offset = end + 1;
  }
  return top;
}

function sectionAt(top: Section, path: readonly string[]): Section {
  return path.reduce((above, key) => {
    const known = above.keys.get(key);
    if (isSection(known)) return known;
    const section: Section = { keys: new Map(), end: undefined };
    above.keys.set(key, section);
    return section;
  }, top);
}

/**
 * Go's format: one or more numbers, each with its unit. Both letters for micro look alike, and Go
 * accepts both.
 */
export const duration = /^(\d+(\.\d+)?(ns|us|µs|μs|ms|s|m|h))+$/;

function leafOf(text: string, start: number): Leaf {
  const first = new RegExp(String.raw`^\[\s*(${scalar})`).exec(text)?.[1];
  return {
    kind: kindOf(text),
    items: first === undefined ? undefined : kindOf(first),
    text,
    start,
    end: start + text.length,
    slots: [...text.matchAll(/\{\{\s*([\w.-]+)\s*\}\}/g)].map(([, name = '']) => name),
  };
}

function kindOf(text: string): Kind {
  if (text === 'true' || text === 'false') return 'boolean';
  if (text.startsWith('[')) return 'list';
  if (/^["']/.test(text)) return duration.test(text.slice(1, -1)) ? 'duration' : 'text';
  // Braces without quotes always have whole numbers.
  return text.startsWith('{{') || /^([+-]?[\d_]+|0[xob].*)$/.test(text) ? 'whole number' : 'number';
}
