import { parseDocument } from 'yaml';
import { Problem } from '../problem/problem.ts';
import { type FormatName, formats } from './format.ts';
import { placeOf } from './place.ts';
import type { Source } from './source.ts';

/**
 * What is wrong with a template as a file of its format, whatever its names stand for; undefined where nothing is. No value is put
 * in, so what the parser says quotes no secret.
 */
export function syntaxProblem(template: string, { file, format }: Source): Problem | undefined {
  const at = (offset: number) => placeOf(template, offset, file);
  if (template.startsWith('\uFEFF')) {
    return new Problem('this file begins with a byte order mark', {
      where: at(0),
      hint: 'save it as UTF-8 without one',
    });
  }
  const windows = template.indexOf('\r\n');
  if (windows !== -1) {
    return new Problem('lines end with CR LF here', { where: at(windows), hint: 'save the file with LF alone' });
  }
  const fault = faultOf(filled(template), format);
  if (!fault) return undefined;
  const { words, offset, line, column } = fault;
  const where = line !== undefined && column !== undefined ? { file, line, column } : at(offset ?? 0);
  return new Problem(`this is not a valid ${format} file`, { where, hint: words });
}

/** Digits where braces stand: a value with quotes and without. All are as long as what they replace, so every place stays. */
function filled(template: string): string {
  let count = 0;
  return template.replaceAll(/\{\{[^{}\n]*\}\}/g, (braces) => `1${String(count++).padStart(braces.length - 1, '0')}`);
}

interface Fault {
  readonly words: string;
  readonly offset?: number | undefined;
  /** From 1. */
  readonly line?: number;
  readonly column?: number;
}

function faultOf(text: string, format: FormatName): Fault | undefined {
  try {
    formats[format].parse(text);
  } catch (error) {
    return inWords(error as ParserError, text, format);
  }
  // JSON.parse takes the last of several without a word.
  const twice = format === 'json' ? parseDocument(text).errors.find(({ code }) => code === 'DUPLICATE_KEY') : undefined;
  return twice && { words: 'this key stands here a second time', offset: twice.pos[0] };
}

/** What the parsers add to an error: @iarna/toml line and column from 0, yaml offsets. */
interface ParserError extends Error {
  readonly line?: number;
  readonly col?: number;
  readonly pos?: number | readonly [number, number];
}

function inWords({ message, line, col, pos }: ParserError, text: string, format: FormatName): Fault {
  const [first = ''] = message.replace(/^offset \d+: /, '').split(/ at (?:row|line) | in JSON at |, (?:\.\.\.)?"|\n/);
  const words = first.charAt(0).toLowerCase() + first.slice(1);
  // Its columns count from 0, and from 1 on the first line.
  if (line !== undefined && col !== undefined) return { words, line: line + 1, column: line === 0 ? col : col + 1 };
  if (typeof pos === 'object') return { words, offset: pos[0] };
  const said = /(?:^offset|at position) (\d+)/.exec(message)?.[1];
  if (said !== undefined) return { words, offset: Number(said) };
  // Of an unexpected token JSON.parse says no place; JSON is YAML, too.
  const { errors } = parseDocument(text, { schema: 'json' });
  return { words, offset: format === 'json' ? (errors[0]?.pos[0] ?? text.length) : undefined };
}
