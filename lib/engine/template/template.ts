import { isDeepStrictEqual } from 'node:util';
import { type Place, Problem, Problems } from '../problem/problem.ts';
import type { Content } from '../resource/file/content.ts';
import { Secret } from '../secret/secret.ts';
import { didYouMean } from '../text/suggest.ts';
import { type FormatName, formats } from './format.ts';
import { maskedContent } from './mask.ts';
import { placeOf } from './place.ts';
import type { Source } from './source.ts';
import { syntaxProblem } from './syntax.ts';

/** Text stands between quotes, a whole number may also stand bare. */
export type Value = string | number | Secret;
export type Values = Readonly<Record<string, Value>>;

/**
 * Puts values where `{{ name }}` stands. Each value is escaped for the template's format; then the whole is parsed by the format's
 * real parser and compared with the template's own parsed tree with the values put in. So no value can leave its place.
 *
 * @throws Problems for names that are not known and braces that are no name, Problem for a value that does not come through; each
 *   with the place in the template. No value appears in it.
 */
export function renderTemplate(template: string, values: Values, source: Source): Content {
  const slots = slotsOf(template, values, source.file);
  const text = fill(template, slots, (slot) => escaped(template, slot, source.format));
  if (!comesThrough(template, slots, source)) {
    // Before any value is blamed.
    const broken = syntaxProblem(template, source);
    if (broken) throw broken;
    const culprit = slots.find(
      (slot) =>
        !comesThrough(
          template,
          slots.map((other) => (other === slot ? slot : harmless(other))),
          source,
        ),
    );
    const where = culprit?.where ?? { file: source.file };
    throw new Problem(
      culprit
        ? `the value of ${culprit.name} does not come through unharmed here`
        : `this is not a valid ${source.format} file`,
      { where },
    );
  }
  const holdsSecrets = slots.some((slot) => slot.given instanceof Secret);
  return maskedContent(text, formats[source.format].secretLines, holdsSecrets);
}

/** One `{{ name }}` of a template. */
interface Slot {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly where: Place;
  readonly given: Value;
  readonly value: string;
}

function slotsOf(template: string, values: Values, file: string): Slot[] {
  const problems: Problem[] = [];
  const slots: Slot[] = [];
  for (const match of template.matchAll(/\{\{([^{}\n]*)\}\}|\{\{/g)) {
    const where = placeOf(template, match.index, file);
    const name = match[1]?.trim() ?? '';
    if (!/^[a-z][a-z0-9_]*$/.test(name)) {
      problems.push(new Problem('{{ }} must hold one name', { where, hint: 'a name is small letters, digits and _' }));
      continue;
    }
    const given = Object.hasOwn(values, name) ? values[name] : undefined;
    if (given === undefined) {
      const known = Object.keys(values).filter((key) => values[key] !== undefined);
      problems.push(new Problem(`there is no value called ${name}`, { where, hint: didYouMean(name, known) }));
      continue;
    }
    const value = given instanceof Secret ? given.reveal() : String(given);
    const fault = faultOf(given, value);
    if (fault) problems.push(new Problem(`the value of ${name} ${fault}`, { where }));
    slots.push({ name, start: match.index, end: match.index + match[0].length, where, given, value });
  }
  if (problems.length > 0) throw new Problems(problems);
  return slots;
}

function faultOf(given: Value, value: string): string | undefined {
  if (typeof given === 'number') return Number.isSafeInteger(given) ? undefined : 'must be a whole number';
  return textFault(value);
}

/** Why a text can stand in no file, or undefined. */
export function textFault(value: string): string | undefined {
  if (value.includes('\0')) return 'has a NUL character, which no program takes';
  if (/\p{Surrogate}/u.test(value)) return 'is not well-formed text';
  if (/[\uE000\uE001]/.test(value)) return 'has a character of the private use area';
  return undefined;
}

function escaped(template: string, slot: Slot, format: FormatName): string {
  if (typeof slot.given === 'number') return slot.value;
  return format === 'sql' ? escapedForSql(template, slot) : formats[format].escape(slot.value);
}

/** Within a literal or a quoted identifier the quote itself is doubled. Nowhere else may text stand. */
function escapedForSql(template: string, slot: Slot): string {
  const quote = template[slot.start - 1];
  if ((quote !== "'" && quote !== '"') || template[slot.end] !== quote) {
    throw new Problem(`${slot.name} must stand between quotes, alone`, { where: slot.where });
  }
  const line = template.slice(template.lastIndexOf('\n', slot.start) + 1, slot.start);
  if (line.startsWith('\\') && !/^[A-Za-z0-9_.~-]+$/.test(slot.value)) {
    throw new Problem(`the value of ${slot.name} cannot stand in a psql command: only A-Z a-z 0-9 _ . ~ - can`, {
      where: slot.where,
    });
  }
  return slot.value.replaceAll(quote, quote.repeat(2));
}

/** Whether the rendered text, parsed, is the parsed template with these values in it. */
function comesThrough(template: string, slots: readonly Slot[], { format }: Source): boolean {
  const { parse, readBack } = formats[format];
  const text = fill(template, slots, (slot) => escaped(template, slot, format));
  const marks = marksFor(slots, `${template}${text}`);
  try {
    const expected = putIn(parse(fill(template, slots, (_, i) => marks[i] ?? '')), slots, marks, readBack);
    return isDeepStrictEqual(plainTree(parse(text)), expected);
  } catch {
    // What a parser says quotes the text, which may hold a secret.
    return false;
  }
}

/** A number stands with quotes and without, so that only the slot that is tried can fail. */
function harmless(slot: Slot): Slot {
  return { ...slot, given: slot.start, value: String(slot.start) };
}

function fill(template: string, slots: readonly Slot[], textOf: (slot: Slot, i: number) => string): string {
  let text = '';
  let from = 0;
  for (const [i, slot] of slots.entries()) {
    text += template.slice(from, slot.start) + textOf(slot, i);
    from = slot.end;
  }
  return text + template.slice(from);
}

/** For each slot something that stands nowhere else; for a number a number, all of one length so that none is part of another. */
function marksFor(slots: readonly Slot[], taken: string): string[] {
  let number = 700_000_000;
  const fresh = (): string => {
    do number += 1;
    while (taken.includes(String(number)));
    return String(number);
  };
  return slots.map(({ given }, i) => (typeof given === 'number' ? fresh() : `\uE000${i}\uE001`));
}

/** The template's tree with every mark replaced by what its slot holds. */
function putIn(
  tree: unknown,
  slots: readonly Slot[],
  marks: readonly string[],
  readBack: (value: string) => string,
): unknown {
  const byMark = new Map(slots.map((slot, i) => [marks[i] ?? '', slot]));
  const numbers = marks.filter((mark) => /^\d/.test(mark));
  const anyMark = new RegExp(['\uE000\\d+\uE001', ...numbers].join('|'), 'g');
  const shown = (mark: string): string => {
    const slot = byMark.get(mark);
    if (!slot) return mark;
    return typeof slot.given === 'number' ? slot.value : readBack(slot.value);
  };
  const inText = (text: string): string => text.replaceAll(anyMark, shown);
  const walk = (node: unknown): unknown => {
    if (typeof node === 'string') return inText(node);
    if (typeof node === 'number') {
      const slot = byMark.get(String(node));
      return slot ? slot.given : node;
    }
    if (Array.isArray(node)) return node.map(walk);
    if (typeof node === 'object' && node !== null) {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [inText(key), walk(value)]));
    }
    return node;
  };
  return walk(tree);
}

/** The parser's own classes become plain objects, so that two trees can be compared. */
export function plainTree(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(plainTree);
  if (typeof tree === 'object' && tree !== null) {
    return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, plainTree(value)]));
  }
  return tree;
}
