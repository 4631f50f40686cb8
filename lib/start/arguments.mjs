/**
 * What follows a script's name on the command line, whether zx runs it or node.
 *
 * @param {string} script file name, as deploy.mjs
 * @returns {string[]}
 */
export function argumentsOf(script) {
  return process.argv.slice(process.argv.findIndex((word) => word.endsWith(script)) + 1);
}
