import { resolve } from 'node:path';

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

/**
 * @param {readonly import('esbuild').Message[]} errors of code that cannot be compiled
 * @param {string} folder that esbuild worked in: files in it are named from there
 * @returns {string} `FILE:LINE:COLUMN: why`, a line each
 */
export function placesOf(errors, folder) {
  return errors
    .map(({ location, text }) =>
      location
        ? `${location.file.startsWith('..') ? resolve(folder, location.file) : location.file}:${location.line}:${location.column + 1}: ${text}`
        : text,
    )
    .join('\n');
}
