// Lets a script import TypeScript: later versions of Node do by themselves, for the others tsx does.
// A .ts file can be imported only after this, and so only dynamically.
const native = /** @type {{ typescript?: unknown }} */ (process.features).typescript;
if (!native) (await import('tsx/esm/api')).register();

/**
 * What follows a script's name on the command line, whether zx runs it or node.
 *
 * @param {string} script file name, as deploy.mjs
 * @returns {string[]}
 */
export function argumentsOf(script) {
  return process.argv.slice(process.argv.findIndex((word) => word.endsWith(script)) + 1);
}
