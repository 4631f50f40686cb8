// The program behind the playbooks: what they run, and the roles that they compose.
import { readdirSync } from 'node:fs';
import { compiled, isSource } from './compiled.mjs';

/** Exit code of bad input, as lib/problem.ts has it, which cannot be imported yet. */
const badInput = 3;

/** @param {string} folder */
const sourcesOf = (folder) =>
  readdirSync(new URL(`../${folder}`, import.meta.url))
    .filter(isSource)
    .map((name) => `${folder}/${name}`);

const deployment = 'lib/commands/playbook.ts';
const others = sourcesOf('lib/commands').filter((file) => file !== deployment);
const roles = sourcesOf('roles');
const bundles = [[deployment, ...roles], ...others.map((file) => [file])];

/** Imports one of its modules: a file of lib/commands or roles, as lib/commands/status.ts. */
export const program = await compiled(bundles).catch(refuse);

/**
 * The role of this name, from roles/NAME.ts.
 *
 * @param {string} name
 * @returns {Promise<import('./resource/role.ts').Role<import('./node/variables.ts').Variables>>}
 */
export async function role(name) {
  const file = `roles/${name}.ts`;
  if (!roles.includes(file)) {
    console.error(`there is no role ${name} (${file}); there are: ${roles.map(nameOf).join(', ')}`);
    process.exit(badInput);
  }
  return (await program(file)).default;
}

/** @param {string} file */
const nameOf = (file) => file.replace(/^roles\/|\.ts$/g, '');

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
