import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LabError } from './lab-error.mjs';

/** @typedef {(line: string) => void} Log */

/** @type {Log} */
export const print = (line) => console.log(line);

/**
 * Runs `main` when the module is the script that was started (`npx zx FILE`, `node FILE`), and not
 * when it is imported. Ends with 3 and one clear message for a LabError, 1 for anything else.
 *
 * @param {string} moduleUrl the module's `import.meta.url`
 * @param {(words: string[]) => Promise<number | void>} main takes the words after the script's
 * name; returns the exit code
 */
export async function runAsScript(moduleUrl, main) {
  const file = fileURLToPath(moduleUrl);
  const at = process.argv.findIndex((word, index) => index > 0 && samePath(word, file));
  if (at === -1) return;
  try {
    process.exitCode = (await main(process.argv.slice(at + 1))) ?? 0;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    console.error(error.hint ? `${error.message}\n  ${error.hint}` : error.message);
    process.exitCode = 3;
  }
}

/**
 * @param {string} word
 * @param {string} file
 */
function samePath(word, file) {
  try {
    return realpathSync(word) === realpathSync(file);
  } catch {
    return false;
  }
}
