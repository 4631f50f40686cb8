import type { Place } from '../problem/problem.ts';
import type { FormatName } from './format.ts';

/** Name and format of a template: for places in problems, and for the rules of its format. */
export interface Source {
  readonly file: string;
  readonly format: FormatName;
}

/** Line and column of an offset in a text. */
export function placeOf(text: string, offset: number, file: string): Place {
  const before = text.slice(0, offset).split('\n');
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
