import { Problem } from '../problem.ts';
import { placeOf } from './place.ts';
import type { Source } from './template.ts';

/** What kind of value stands in a template. A duration is text with a unit, as Go reads it. */
export type Kind = 'boolean' | 'whole number' | 'number' | 'duration' | 'text' | 'list';

/** One value of a template and where its text stands. */
export interface Leaf {
  /** Keys from the top: `['RPC', 'WebSockets', 'Port']`. */
  readonly path: readonly string[];
  readonly kind: Kind;
  /** As it is written, quotes and braces included. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Names that stand in it in double braces: such a value comes from elsewhere. */
  readonly slots: readonly string[];
}

const value = String.raw`(?<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{\{[^{}]*\}\}|[^\s#,"{}[\]]+)`;
const lineOf = {
  toml: new RegExp(String.raw`^(?<before>(?<key>[\w-]+) = )${value}(?:\s+#.*)?$`),
  json: new RegExp(String.raw`^(?<before>\s*"(?<key>[^"]+)": )${value},?$`),
};
const section = /^\[(?<name>[\w.-]+)\](?:\s+#.*)?$/;
const empty = { toml: /^\s*(#.*)?$/, json: /^\s*[{}]?\s*$/ };

/**
 * All values of a TOML or flat JSON template, in order. One value a line: that is how these templates are written, so that a
 * value can be replaced and everything around it, comments too, stays.
 *
 * @throws Problem with the place of a line that is anything else
 */
export function leavesOf(template: string, source: Source): Leaf[] {
  const format = source.format === 'toml' ? 'toml' : 'json';
  const leaves: Leaf[] = [];
  let above: string[] = [];
  let offset = 0;
  for (const line of template.split('\n')) {
    const header = format === 'toml' ? section.exec(line) : null;
    const entry = lineOf[format].exec(line);
    if (header) above = (header.groups?.name ?? '').split('.');
    else if (entry?.groups) {
      const { key = '', before = '', value: text = '' } = entry.groups;
      const start = offset + before.length;
      const slots = [...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name);
      leaves.push({ path: [...above, key], kind: kindOf(text), text, start, end: start + text.length, slots });
    } else if (!empty[format].test(line)) {
      throw new Problem('this line is not one key with its value', {
        where: placeOf(template, offset, source.file),
        hint: 'overrides from the inventory need templates with one key and value on each line',
      });
    }
    offset += line.length + 1;
  }
  return leaves;
}

/** Go's way: one or more numbers, each with its unit. */
export const duration = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/;

function kindOf(text: string): Kind {
  if (text === 'true' || text === 'false') return 'boolean';
  if (text.startsWith('[')) return 'list';
  if (text.startsWith('"')) return duration.test(text.slice(1, -1)) ? 'duration' : 'text';
  // Only whole numbers are ever put where braces stand bare.
  return text.startsWith('{{') || /^-?\d+$/.test(text) ? 'whole number' : 'number';
}
