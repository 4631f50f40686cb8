import { isDeepStrictEqual } from 'node:util';
import { Problem, Problems } from '../problem/problem.ts';
import type { Content } from '../resource/file/content.ts';
import { formats } from './format.ts';
import { type Outline, outlineOf } from './leaves.ts';
import type { Source } from './source.ts';
import { plainTree, renderTemplate, type Value, type Values } from './template.ts';

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
 * @throws Problem, Problems as `renderTemplate`; Problem with its keys for an override that does not come through
 */
export function renderWithOverrides(
  template: string,
  values: Values,
  source: Source,
  overrides: readonly Override[],
): Content {
  const plain = renderTemplate(template, values, source);
  if (overrides.length === 0) return plain;
  const content = withOverrides(template, values, source, overrides, plain);
  if (content) return content;
  const culprit = overrides.find((one) => !withOverrides(template, values, source, [one], plain));
  const which = (culprit ? [culprit] : overrides).map(({ path }) => path.join('.')).join(', ');
  throw new Problem(`what the inventory says of ${which} does not come through unharmed here`, {
    where: { file: source.file },
  });
}

/** Undefined where they do not come through. What the parser says is of a file that no operator sees. */
function withOverrides(
  template: string,
  values: Values,
  source: Source,
  overrides: readonly Override[],
  plain: Content,
): Content | undefined {
  const changed = overridden(template, source, overrides);
  const { parse } = formats[source.format];
  const wanted = overrides.reduce((tree, one) => withValue(tree, one.path, one.value), parse(plain.text));
  try {
    const content = renderTemplate(changed.template, { ...values, ...changed.values }, source);
    return isDeepStrictEqual(plainTree(parse(content.text)), plainTree(wanted)) ? content : undefined;
  } catch (error) {
    if (error instanceof Problem || error instanceof Problems) return undefined;
    throw error;
  }
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
  let count = 0;
  const write = (value: Scalar): string => {
    if (typeof value === 'boolean') return String(value);
    // A whole number beyond what is exact would be read as one of another kind.
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      return Number.isInteger(value) ? value.toExponential() : String(value);
    }
    count += 1;
    const name = `override_${count}`;
    values[name] = value;
    return typeof value === 'number' ? `{{ ${name} }}` : `"{{ ${name} }}"`;
  };
  const literal = (value: Override['value']): string =>
    typeof value === 'object' ? `[${value.map(write).join(', ')}]` : write(value);

  // Else two additions at its very end could change places.
  const whole = template.endsWith('\n') ? template : `${template}\n`;
  const outline = outlineOf(whole, source);
  const added = new Map<string, { key: string; text: string }[]>();
  const edits: Edit[] = [];
  for (const { path, value } of overrides) {
    const leaf = outline.leaves.find((each) => isDeepStrictEqual(each.path, path));
    if (leaf) edits.push({ at: leaf.start, end: leaf.end, text: literal(value) });
    else {
      const above = path.slice(0, -1).join('.');
      const entries = added.get(above) ?? [];
      entries.push({ key: path.at(-1) ?? '', text: literal(value) });
      added.set(above, entries);
    }
  }
  for (const [above, entries] of added) edits.push(addition(whole, source, outline, above, entries));
  const text = edits
    .toReversed()
    .sort((a, b) => b.at - a.at)
    .reduce((all, { at, end, text }) => all.slice(0, at) + text + all.slice(end), whole);
  return { template: text, values };
}

/** New keys stand behind the last one of their section, or its header, or in a section of their own at the end. */
function addition(
  template: string,
  source: Source,
  { leaves, sections }: Outline,
  above: string,
  entries: readonly { key: string; text: string }[],
): Edit {
  if (source.format === 'json') {
    const at = leaves.at(-1)?.end ?? template.lastIndexOf('}');
    return { at, end: at, text: entries.map(({ key, text }) => `,\n  ${JSON.stringify(key)}: ${text}`).join('') };
  }
  const lines = entries.map(({ key, text }) => `${key} = ${text}`).join('\n');
  const behind =
    leaves.findLast(({ path }) => path.slice(0, -1).join('.') === above) ??
    sections.find(({ path }) => path.join('.') === above);
  if (behind) {
    const at = template.indexOf('\n', behind.end);
    return { at, end: at, text: `\n${lines}` };
  }
  // Keys of the top stand before all sections.
  if (above === '') return { at: 0, end: 0, text: `${lines}\n\n` };
  return { at: template.length, end: template.length, text: `\n[${above}]\n${lines}\n` };
}

function withValue(tree: unknown, [key = '', ...rest]: readonly string[], value: Override['value']): unknown {
  const fields = (typeof tree === 'object' && tree !== null ? tree : {}) as Record<string, unknown>;
  return {
    ...fields,
    [key]: rest.length === 0 ? value : withValue(Object.hasOwn(fields, key) ? fields[key] : {}, rest, value),
  };
}
