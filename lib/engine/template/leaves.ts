import { Problem } from '../problem/problem.ts';
import { placeOf } from './place.ts';
import type { Source } from './source.ts';

/** What kind of value stands in a template. A duration is text with a unit, as Go reads it. */
export type Kind = 'boolean' | 'whole number' | 'number' | 'duration' | 'text' | 'list';

/** One value of a template and where its text stands. */
export interface Leaf {
  /** Keys from the top: `['RPC', 'WebSockets', 'Port']`. */
  readonly path: readonly string[];
  readonly kind: Kind;
  /** Of a list the kind of its values; undefined where it has none. */
  readonly items: Kind | undefined;
  /** As it is written, quotes and braces included. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Names that stand in it in double braces: such a value comes from elsewhere. */
  readonly slots: readonly string[];
}

/** A section that has a header, be it empty. */
export interface Section {
  readonly path: readonly string[];
  /** Where its header ends. */
  readonly end: number;
}

/** What stands in a template. */
export interface Outline {
  readonly leaves: readonly Leaf[];
  readonly sections: readonly Section[];
}

const slot = String.raw`\{\{[^{}]*\}\}`;
const basic = String.raw`"(?:[^"\\]|\\.)*"`;
const scalars = {
  toml: [
    basic,
    `'[^']*'`,
    'true|false',
    String.raw`0x[\dA-Fa-f_]+|0o[0-7_]+|0b[01_]+`,
    String.raw`[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?`,
  ],
  json: [basic, 'true|false', String.raw`-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`],
};
const scalarOf = { toml: scalars.toml.join('|'), json: scalars.json.join('|') };

function value(format: 'toml' | 'json'): string {
  const one = `(?:${scalarOf[format]}|${slot})`;
  return String.raw`(?<value>${one}|\[\s*(?:${one}\s*(?:,\s*${one}\s*)*,?\s*)?\])`;
}

const lineOf = {
  toml: new RegExp(String.raw`^(?<before>\s*(?<key>[\w-]+)\s*=\s*)${value('toml')}\s*(?:#.*)?$`),
  json: new RegExp(String.raw`^(?<before>\s*"(?<key>[^"]+)"\s*:\s*)${value('json')}\s*,?\s*$`),
};
const header = /^\s*\[\s*(?<name>[\w.-]+)\s*\]\s*(?:#.*)?$/;
const empty = { toml: /^\s*(#.*)?$/, json: /^\s*[{}]?\s*$/ };

/**
 * All values and sections of a TOML or flat JSON template, in order. One value a line: that is how these templates are written, so
 * that a value can be replaced and everything around it, comments too, stays.
 *
 * @throws Problem with the place of a line that is anything else
 */
export function outlineOf(template: string, source: Source): Outline {
  const format = source.format === 'toml' ? 'toml' : 'json';
  const leaves: Leaf[] = [];
  const sections: Section[] = [];
  let above: readonly string[] = [];
  let offset = 0;
  for (const line of template.split('\n')) {
    const name = format === 'toml' ? header.exec(line)?.groups?.name : undefined;
    const entry = lineOf[format].exec(line);
    if (name !== undefined) {
      above = name.split('.');
      sections.push({ path: above, end: offset + line.length });
    } else if (entry?.groups) {
      const { key = '', before = '', value: text = '' } = entry.groups;
      const start = offset + before.length;
      const slots = [...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name);
      leaves.push({ path: [...above, key], ...kindsOf(text, format), text, start, end: start + text.length, slots });
    } else if (!empty[format].test(line)) {
      throw new Problem('this line is not one key with its value', {
        where: placeOf(template, offset, source.file),
        hint: 'overrides from the inventory need templates with one key and value on each line',
      });
    }
    offset += line.length + 1;
  }
  return { leaves, sections };
}

/** Go's way: one or more numbers, each with its unit. Both letters for micro look alike, and Go takes both. */
export const duration = /^(\d+(\.\d+)?(ns|us|µs|μs|ms|s|m|h))+$/;

function kindsOf(text: string, format: 'toml' | 'json'): Pick<Leaf, 'kind' | 'items'> {
  const first = new RegExp(String.raw`^\[\s*(${scalarOf[format]}|${slot})`).exec(text)?.[1];
  return { kind: kindOf(text), items: first === undefined ? undefined : kindOf(first) };
}

function kindOf(text: string): Kind {
  if (text === 'true' || text === 'false') return 'boolean';
  if (text.startsWith('[')) return 'list';
  if (/^["']/.test(text)) return duration.test(text.slice(1, -1)) ? 'duration' : 'text';
  // Only whole numbers are ever put where braces stand bare.
  return text.startsWith('{{') || /^([+-]?[\d_]+|0[xob].*)$/.test(text) ? 'whole number' : 'number';
}
