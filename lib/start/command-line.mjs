import { readFileSync } from 'node:fs';

/** The words after the script on the command line, whether zx runs the script or node. */
export const commandLine = process.argv.slice(process.argv.findIndex((word) => word.endsWith('.mjs')) + 1);

const [first] = commandLine;
if (first === '--version') {
  // Before anything is compiled or loaded.
  const { name, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  console.log(`${name} ${version}`);
  process.exit(0);
}
