import { exitCode, Problem } from '../../problem/problem.ts';

/** Texts and numbers of JSON: a text is passed over whole, as it may hold what reads like a number. */
const words = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Where JSON has a number that would come out as another one if it were read and written again: whole numbers from 2^53 on, such as
 * the largest limit that a program knows, and what is too large for a number at all.
 *
 * @param text valid JSON
 * @returns its line, from 1; undefined where every number stays what it is
 */
export function lineOfInexactNumber(text: string): number | undefined {
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.startsWith('"')) continue;
    const value = Number(word);
    const isWhole = /^-?[1-9]\d*$/.test(word);
    if (!Number.isFinite(value) || (isWhole && String(value) !== word)) return text.slice(0, index).split('\n').length;
  }
  return undefined;
}

/**
 * @param text valid JSON in that file, which is to be written again
 * @throws Problem where a number would become another one: whatever reads the file might not start any more
 */
export function refuseInexact(path: string, text: string): void {
  const line = lineOfInexactNumber(text);
  if (line === undefined) return;
  throw new Problem(
    `${path} has a number in line ${line} that would not be kept to its last digit; it is left as it is`,
    {
      hint: 'write a smaller one there, or change the file by hand: what is right already is not written anew',
      code: exitCode.failed,
    },
  );
}
