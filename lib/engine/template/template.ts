import { type Place, Problem, Problems } from '../problem/problem.ts';
import type { Content } from '../resource/file/content.ts';
import { Secret } from '../secret/secret.ts';
import { didYouMean } from '../text/suggest.ts';
import { type FormatName, parsers, quoted } from './format.ts';
import { maskedContent } from './mask.ts';
import { placeOf, type Source } from './source.ts';

/**
 * Text must be between quotes, a whole number may also be without. `true` and `false` are
 * conditions of lines.
 */
export type Value = string | number | boolean | Secret;
export type Values = Readonly<Record<string, Value>>;

/** A part of a text, and its replacement. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** One `{{ name }}` of a template. */
interface Slot extends Piece {
  readonly name: string;
  readonly where: Place;
  /** The value that the format's parser returns. */
  readonly parsed: string;
  readonly isNumber: boolean;
}

/**
 * Puts values into a valid template where `{{ name }}` is, and leaves out a line that ends with `#
 * {{ if name }}` where that value is false. Each value is escaped for the template's format. A
 * template may have been edited, so the result is parsed: it must be the template's tree with the
 * values in it, which proves that no value breaks out of its place.
 *
 * @throws Problems for unknown names, braces without a name and values that the format cannot
 * hold, Problem for a value that does
 *   not fit its place; each with the place in the template, and no value in the message
 */
export function renderTemplate(template: string, values: Values, source: Source): Content {
  const problems: Problem[] = [];
  const cuts = cutsIn(template, values, source, problems);
  const slots: Slot[] = [];
  for (const match of template.matchAll(/\{\{([^{}\n]*)\}\}|\{\{/g)) {
    if (cuts.some(({ start, end }) => start <= match.index && match.index < end)) continue;
    const found = slotAt(template, match, values, source);
    if (found instanceof Problem) problems.push(found);
    else slots.push(found);
  }
  if (problems.length > 0) throw new Problems(problems);
  if (!fits(template, slots, cuts, source.format)) throw misfit(template, slots, cuts, source);
  const holdsSecrets = slots.some(({ name }) => values[name] instanceof Secret);
  return maskedContent(replaced(template, inOrder(slots, cuts)), source.format, holdsSecrets);
}

/** The lines that are left out, and the conditions of the other lines. Adds to the problems. */
function cutsIn(template: string, values: Values, { file }: Source, problems: Problem[]): Piece[] {
  return [...template.matchAll(/^(.*?)([ \t]*# \{\{ if ([A-Za-z][\w.-]*) \}\})\n/gm)].map((match) => {
    const [line, before = '', condition = '', name = ''] = match;
    const at = match.index + before.length;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (typeof value !== 'boolean') {
      const where = placeOf(template, at, file);
      problems.push(
        new Problem(`there is no condition ${name}`, { where, hint: 'a condition is true or false' }),
      );
    }
    return value === false
      ? { start: match.index, end: match.index + line.length, text: '' }
      : { start: at, end: at + condition.length, text: '' };
  });
}

function inOrder(pieces: readonly Piece[], cuts: readonly Piece[]): Piece[] {
  return [...pieces, ...cuts].sort((a, b) => a.start - b.start);
}

/**
 * A text with some pieces replaced.
 *
 * @param pieces in the order of the text
 */
export function replaced(text: string, pieces: readonly Piece[]): string {
  const parts = pieces.map(
    ({ start, text: wanted }, i) => text.slice(pieces[i - 1]?.end ?? 0, start) + wanted,
  );
  return parts.join('') + text.slice(pieces.at(-1)?.end ?? 0);
}

function slotAt(
  template: string,
  match: RegExpExecArray,
  values: Values,
  { file, format }: Source,
): Slot | Problem {
  const where = placeOf(template, match.index, file);
  const name = match[1]?.trim() ?? '';
  if (!/^[A-Za-z][\w.-]*$/.test(name)) {
    return new Problem('{{ }} must hold one name', { where, hint: 'a name is letters, digits, . _ and -' });
  }
  const given = Object.hasOwn(values, name) ? values[name] : undefined;
  if (given === undefined || typeof given === 'boolean') {
    return new Problem(`there is no variable ${name}`, {
      where,
      hint: didYouMean(name, Object.keys(values)),
    });
  }
  const slot = { name, where, start: match.index, end: match.index + match[0].length };
  if (typeof given === 'number') {
    if (!Number.isSafeInteger(given))
      return new Problem(`the value of ${name} must be a whole number`, { where });
    return { ...slot, text: String(given), parsed: String(given), isNumber: true };
  }
  const value = given instanceof Secret ? given.reveal() : given;
  const fault = textFault(value);
  if (fault) return new Problem(`the value of ${name} ${fault}`, { where });
  if (format === 'sql') return slotInSql(template, { ...slot, text: value, parsed: value, isNumber: false });
  // Compose replaces $NAME by an environment variable, after parsing; $$ is a dollar sign.
  const parsed = format === 'compose' ? value.replaceAll('$', '$$$$') : value;
  return { ...slot, text: quoted(parsed).slice(1, -1), parsed, isNumber: false };
}

/**
 * Within a literal or a quoted identifier the quote itself is doubled. Text is not allowed
 * elsewhere.
 */
function slotInSql(template: string, slot: Slot): Slot | Problem {
  const { name, where, start, end, text } = slot;
  const quote = template[start - 1];
  if ((quote !== "'" && quote !== '"') || template[end] !== quote) {
    return new Problem(`${name} must be alone between quotes`, { where });
  }
  const isCommand = template.startsWith('\\', template.lastIndexOf('\n', start) + 1);
  if (isCommand && !/^[A-Za-z0-9_.~-]+$/.test(text)) {
    return new Problem(`the value of ${name} does not fit in a psql command: only A-Z a-z 0-9 _ . ~ - do`, {
      where,
    });
  }
  return { ...slot, text: text.replaceAll(quote, quote.repeat(2)) };
}

/** Why no file format can hold a text, or undefined. */
export function textFault(value: string): string | undefined {
  if (value.includes('\0')) return 'has a NUL character, which no program takes';
  if (/\p{Surrogate}/u.test(value)) return 'is not well-formed text';
  if (/[\uE000\uE001]/.test(value)) return 'has a character of the private use area';
  return undefined;
}

/** Whether the rendered text, parsed, is the parsed template with these values in it. */
function fits(template: string, slots: readonly Slot[], cuts: readonly Piece[], format: FormatName): boolean {
  // @iarna/toml has large integers as BigInt.
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  const tree = (pieces: readonly Piece[]) =>
    JSON.stringify(parsers[format](replaced(template, inOrder(pieces, cuts))), plain);
  // A mark for each slot. A number may be without quotes, so its mark is a number as well: one
  // that no template has.
  const marked = slots.map((slot, i) => ({
    ...slot,
    text: slot.isNumber ? String(7e15 + i) : `\uE000${i}\uE001`,
  }));
  try {
    const expected = tree(marked).replaceAll(/7(\d{15})|\uE000(\d+)\uE001/g, (mark, number, text) => {
      const slot = slots[Number(number ?? text)];
      return slot ? JSON.stringify(slot.parsed).slice(1, -1) : mark;
    });
    return tree(slots) === expected;
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    return false;
  }
}

/** The first slot that fails with its value while all others have plain numbers. */
function misfit(template: string, slots: readonly Slot[], cuts: readonly Piece[], source: Source): Problem {
  const fitsAlone = (slot: Slot) => {
    const others = slots.map((other) => {
      const number = String(5e9 + other.start);
      return other === slot ? slot : { ...other, text: number, parsed: number, isNumber: true };
    });
    return fits(template, others, cuts, source.format);
  };
  const { name, where } = slots.find((slot) => !fitsAlone(slot)) ?? (slots[0] as Slot);
  return new Problem(`the value of ${name} does not fit here`, {
    where,
    hint: `put quotes around the name: "{{ ${name} }}"`,
  });
}
