// The program behind the playbooks: what they run, and the roles that they compose.
import { readdirSync } from 'node:fs';
import { compiled, isSource } from './compiled.mjs';

/** Exit code of bad input, as lib/problem.ts has it, which cannot be imported yet. */
const badInput = 3;

const files = ['lib/commands', 'roles'].flatMap((folder) =>
  readdirSync(new URL(`../${folder}`, import.meta.url))
    .filter(isSource)
    .map((name) => `${folder}/${name}`),
);

/** Imports one of its modules: a file of lib/commands or roles, as lib/commands/status.ts. */
export const program = await compiled(files).catch(refuse);

/**
 * A role that is no TypeScript is a mistake of whoever wrote it: its place is shown, and no stack of ours.
 *
 * @param {unknown} error
 * @returns {never}
 */
function refuse(error) {
  const { errors } = /** @type {Partial<import('esbuild').BuildFailure>} */ (error);
  if (!errors) throw error;
  for (const { location, text } of errors) {
    const place = location ? `${location.file}:${location.line}:${location.column + 1}: ` : '';
    console.error(`${place}${text}`);
  }
  process.exit(badInput);
}
