import { parseDocument } from 'yaml';
import { type Place, Problem } from '../problem/problem.ts';
import { parsers } from './format.ts';
import { placeOf, type Source } from './source.ts';

/**
 * Checks that a template is a valid file of its format. It is parsed without any value, so that no
 * message quotes a secret.
 *
 * @returns the first thing that is wrong, or undefined
 */
export function syntaxProblem(template: string, source: Source): Problem | undefined {
  const at = (offset: number) => placeOf(template, offset, source.file);
  if (template.startsWith('\uFEFF')) {
    return new Problem('this file begins with a byte order mark', {
      where: at(0),
      hint: 'save the file as UTF-8 without the mark',
    });
  }
  const windows = template.indexOf('\r\n');
  if (windows !== -1) {
    return new Problem('lines end with CR LF here', {
      where: at(windows),
      hint: 'save the file with LF alone',
    });
  }
  const fault = faultIn(filled(template), source);
  return fault && new Problem(`this is not a valid ${source.format} file`, fault);
}

/**
 * Digits for braces: valid with quotes and without, and of the same length, so that places do not
 * move.
 */
function filled(template: string): string {
  let count = 0;
  return template.replaceAll(
    /\{\{[^{}\n]*\}\}/g,
    (braces) => `1${String(count++).padStart(braces.length - 1, '0')}`,
  );
}

/**
 * Position properties of parser errors: @iarna/toml has line and column from 0, the others an
 * offset.
 */
interface ParserError extends Error {
  readonly line?: number;
  readonly col?: number;
  readonly pos?: readonly [number, ...number[]];
}

function faultIn(
  text: string,
  { file, format }: Source,
): { readonly hint: string; readonly where: Place } | undefined {
  try {
    parsers[format](text);
  } catch (error) {
    const { message, line, col, pos } = error as ParserError;
    const [reason = ''] = message.split(/ at (?:row|line) | in JSON at |, (?:\.\.\.)?"|\n/);
    const hint = reason.charAt(0).toLowerCase() + reason.slice(1);
    // Its columns count from 0, and from 1 on the first line.
    if (line !== undefined && col !== undefined) {
      return { hint, where: { file, line: line + 1, column: line === 0 ? col : col + 1 } };
    }
    return { hint, where: placeOf(text, typeof pos === 'object' ? pos[0] : jsonOffset(message, text), file) };
  }
  // JSON.parse accepts a key twice and takes the last value.
  const twice =
    format === 'json' ? parseDocument(text).errors.find(({ code }) => code === 'DUPLICATE_KEY') : undefined;
  return twice && { hint: 'the file has this key twice', where: placeOf(text, twice.pos[0], file) };
}

/** JSON.parse gives no place for an unexpected token. JSON is YAML too. */
function jsonOffset(message: string, text: string): number {
  const position = /at position (\d+)/.exec(message)?.[1];
  return position
    ? Number(position)
    : (parseDocument(text, { schema: 'json' }).errors[0]?.pos[0] ?? text.length);
}
