/**
 * Exit code of bad input. It is the one of lib/engine/problem/problem.ts, which is not compiled
 * yet.
 */
export const badInput = 3;

/**
 * Ends the program for bad input.
 *
 * @param {string} words why, and what to do
 * @returns {never}
 */
export function end(words) {
  console.error(words);
  process.exit(badInput);
}
