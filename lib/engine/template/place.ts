import type { Place } from '../problem/problem.ts';

/** Line and column of an offset in a text. */
export function placeOf(text: string, offset: number, file: string): Place {
  const before = text.slice(0, offset).split('\n');
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
