/** The words after the script on the command line, whether zx runs the script or node. */
export const commandLine = process.argv.slice(process.argv.findIndex((word) => word.endsWith('.mjs')) + 1);
