import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../problem.ts';
import type { Content } from '../resource/content.ts';
import { formats } from './format.ts';
import { type Leaf, leavesOf } from './leaves.ts';
import { plainTree, renderTemplate, type Source, type Value, type Values } from './template.ts';

/** A single value that a file may hold. */
export type Scalar = string | number | boolean;

/** One value of a template that is to be another, or one that it does not have yet. */
export interface Override {
  readonly path: readonly string[];
  readonly value: Scalar | readonly Scalar[];
}

/**
 * As `renderTemplate`, with some of the template's own values replaced and others added; its comments stay. The result, parsed,
 * has to be the template's with exactly these values changed.
 *
 * @param source of a TOML or flat JSON template
 * @throws Problem, Problems as `renderTemplate`, and where an override does not come through
 */
export function renderWithOverrides(
  template: string,
  values: Values,
  source: Source,
  overrides: readonly Override[],
): Content {
  const plain = renderTemplate(template, values, source);
  if (overrides.length === 0) return plain;
  const changed = overridden(template, source, overrides);
  const content = renderTemplate(changed.template, { ...values, ...changed.values }, source);
  const { parse } = formats[source.format];
  const wanted = overrides.reduce((tree, one) => withValue(tree, one.path, one.value), parse(plain.text));
  if (!isDeepStrictEqual(plainTree(parse(content.text)), plainTree(wanted))) {
    throw new Problem('an override from the inventory does not come through unharmed here', {
      where: { file: source.file },
    });
  }
  return content;
}

interface Edit {
  readonly at: number;
  readonly end: number;
  readonly text: string;
}

/** A template in which the overrides stand, text as names in double braces, so that it is escaped like all other values. */
function overridden(
  template: string,
  source: Source,
  overrides: readonly Override[],
): { readonly template: string; readonly values: Values } {
  const values: Record<string, Value> = {};
  const write = (value: Scalar): string => {
    if (typeof value === 'boolean') return String(value);
    // A whole number beyond what is exact would be read as one of another kind.
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      return Number.isInteger(value) ? value.toExponential() : String(value);
    }
    const name = `override_${Object.keys(values).length + 1}`;
    values[name] = value;
    return typeof value === 'number' ? `{{ ${name} }}` : `"{{ ${name} }}"`;
  };
  const literal = (value: Override['value']): string =>
    typeof value === 'object' ? `[${value.map(write).join(', ')}]` : write(value);

  const leaves = leavesOf(template, source);
  const added = new Map<string, { key: string; text: string }[]>();
  const edits: Edit[] = [];
  for (const { path, value } of overrides) {
    const leaf = leaves.find((each) => isDeepStrictEqual(each.path, path));
    if (leaf) edits.push({ at: leaf.start, end: leaf.end, text: literal(value) });
    else {
      const above = path.slice(0, -1).join('.');
      added.set(above, [...(added.get(above) ?? []), { key: path.at(-1) ?? '', text: literal(value) }]);
    }
  }
  for (const [above, entries] of added) edits.push(addition(template, source, leaves, above, entries));
  const text = edits
    .sort((a, b) => b.at - a.at)
    .reduce((all, { at, end, text }) => all.slice(0, at) + text + all.slice(end), template);
  return { template: text, values };
}

/** New keys stand behind the last one of their section, or in a section of their own at the end. */
function addition(
  template: string,
  source: Source,
  leaves: readonly Leaf[],
  above: string,
  entries: readonly { key: string; text: string }[],
): Edit {
  const last = leaves.findLast(({ path }) => path.slice(0, -1).join('.') === above);
  if (source.format === 'json') {
    const at = leaves.at(-1)?.end ?? template.lastIndexOf('}');
    return { at, end: at, text: entries.map(({ key, text }) => `,\n  ${JSON.stringify(key)}: ${text}`).join('') };
  }
  const lines = entries.map(({ key, text }) => `${key} = ${text}`).join('\n');
  if (!last) return { at: template.length, end: template.length, text: `\n[${above}]\n${lines}\n` };
  const newline = template.indexOf('\n', last.end);
  const at = newline === -1 ? template.length : newline;
  return { at, end: at, text: `\n${lines}` };
}

function withValue(tree: unknown, [key = '', ...rest]: readonly string[], value: Override['value']): unknown {
  const fields = (typeof tree === 'object' && tree !== null ? tree : {}) as Record<string, unknown>;
  return { ...fields, [key]: rest.length === 0 ? value : withValue(fields[key], rest, value) };
}
