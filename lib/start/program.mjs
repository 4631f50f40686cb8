// The program behind the playbooks: what they run, and the roles that they compose.
import { readdirSync, statSync } from 'node:fs';
import { compiled, isSource } from './compiled.mjs';

/** Exit code of bad input, as lib/engine/problem/problem.ts has it, which cannot be imported yet. */
const badInput = 3;

/** @param {string} folder */
const sourcesOf = (folder) => {
  const place = new URL(`../../${folder}/`, import.meta.url);
  return readdirSync(place)
    .filter(
      (name) =>
        isSource(name) && statSync(new URL(encodeURIComponent(name), place), { throwIfNoEntry: false })?.isFile(),
    )
    .map((name) => `${folder}/${name}`);
};

const runsPlaybooks = 'lib/commands/playbook/main.ts';
const others = readdirSync(new URL('../commands/', import.meta.url))
  .map((name) => `lib/commands/${name}/main.ts`)
  .filter((file) => file !== runsPlaybooks);
const roles = sourcesOf('roles');

const load = await compiled([[runsPlaybooks, ...roles], ...others.map((file) => [file])]).catch(refuse);

/**
 * Imports one of its modules.
 *
 * @param {string} file `lib/commands/NAME/main.ts` or `roles/NAME.ts`
 */
export function program(file) {
  return load(file).catch(refuse);
}

/**
 * The role of this name, from roles/NAME.ts.
 *
 * @param {string} name
 * @returns {Promise<import('../engine/resource/role.ts').Role<import('../node/variables/variables.ts').Variables>>}
 */
export async function role(name) {
  const file = `roles/${name}.ts`;
  if (!roles.includes(file)) end(`there is no role ${name} (${file}); there are: ${roles.map(nameOf).join(', ')}`);
  const { default: found } = await program(file);
  if (typeof found?.resources !== 'function')
    end(`${file}: its default export is no role; it should be: role('${name}', …)`);
  return found;
}

/** @param {string} file */
const nameOf = (file) => file.replace(/^roles\/|\.ts$/g, '');

/**
 * What cannot be compiled or loaded is a mistake of whoever wrote or installed it: its place is shown, and no stack unless asked for.
 *
 * @param {unknown} error
 * @returns {never}
 */
function refuse(error) {
  const { errors, code, message, stack } =
    /** @type {Partial<import('esbuild').BuildFailure & NodeJS.ErrnoException>} */ (error);
  if (errors) {
    const places = errors.map(({ location, text }) =>
      location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text,
    );
    end(places.join('\n'));
  }
  if (code === 'ERR_MODULE_NOT_FOUND') end(`${message}\n  the packages are not all installed: npm ci`);
  if (process.argv.includes('--verbose')) end(stack ?? String(error));
  end(`the program cannot be loaded: ${message ?? error}\n  --verbose shows where`);
}

/**
 * @param {string} line
 * @returns {never}
 */
function end(line) {
  console.error(line);
  process.exit(badInput);
}
