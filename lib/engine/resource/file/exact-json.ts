/** Strings and numbers of JSON. Strings are matched whole, as they may contain digits. */
const words = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Finds a number that JSON.parse and JSON.stringify would change: whole numbers from 2^53 on, and
 * numbers that are too large.
 *
 * @param text valid JSON
 * @returns its line, from 1; undefined where every number is kept
 */
export function lineOfInexactNumber(text: string): number | undefined {
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.startsWith('"')) continue;
    const value = Number(word);
    const isWhole = /^-?[1-9]\d*$/.test(word);
    if (!Number.isFinite(value) || (isWhole && String(value) !== word))
      return text.slice(0, index).split('\n').length;
  }
  return undefined;
}
