// The program behind the playbooks: its commands and the roles, in TypeScript, compiled once for
// each state of the sources.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiled, isSource } from './cache.mjs';
import { commandLine } from './command-line.mjs';
import { end, placesOf } from './end.mjs';
import { ownFiles } from './own.mjs';

const runsPlaybooks = 'lib/commands/playbook/main.ts';
const commands = readdirSync(new URL('../commands/', import.meta.url))
  .map((name) => `lib/commands/${name}/command.ts`)
  .filter(
    (file) =>
      existsSync(new URL(`../../${file}`, import.meta.url)) && dirname(file) !== dirname(runsPlaybooks),
  );
const kinds = 'lib/engine/resource/kinds.ts';
const root = fileURLToPath(new URL('../../', import.meta.url));
const roleFolder = new URL('../../roles/', import.meta.url);
const roles = readdirSync(roleFolder)
  .filter(
    (name) =>
      isSource(name) &&
      statSync(new URL(encodeURIComponent(name), roleFolder), { throwIfNoEntry: false })?.isFile(),
  )
  .map((name) => `roles/${name}`);

const own = ownRoles();

const load = await compiled([runsPlaybooks, kinds, ...roles, ...commands]).catch(refuse);
const loadOwn = own.length > 0 ? await compiled(own, await load(kinds)).catch(refuse) : load;

/**
 * Imports a module of the program.
 *
 * @param {string} file `lib/commands/NAME/command.ts`, `roles/NAME.ts`, or the absolute path of a
 * team's own role
 */
export function program(file) {
  if (!isAbsolute(file)) return load(file).catch(refuse);
  return loadOwn(file).catch((error) => refuse(error, `${file} cannot be loaded`));
}

/** Names of the commands that are not playbooks. */
export const commandNames = commands.map((file) => basename(dirname(file)));

/**
 * Runs a command that is not a playbook, and sets the exit code of the process.
 *
 * @param {string} name of its folder in lib/commands
 */
export async function command(name) {
  const { run } = await program(`lib/commands/${name}/command.ts`);
  process.exitCode = await run(commandLine);
}

/**
 * The role of this name, from roles/NAME.ts of the program or of the project folder.
 *
 * @param {string} name
 * @returns
 * {Promise<import('../engine/resource/role.ts').Role<import('../node/variables/variables.ts').Variables>>}
 */
export async function role(name) {
  const file = [...roles, ...own].find((each) => nameOf(each) === name);
  if (file === undefined)
    end(
      `there is no role ${name} (roles/${name}.ts); there are: ${[...roles, ...own].map(nameOf).join(', ')}`,
    );
  const { default: found } = await program(file);
  if (typeof found?.resources !== 'function')
    end(`${file}: its default export is not a role; it should be: role('${name}', …)`);
  return found;
}

/**
 * @param {string} file
 */
function nameOf(file) {
  return basename(file, '.ts');
}

/**
 * @returns {string[]} absolute paths of the project folder's roles
 */
function ownRoles() {
  try {
    const found = ownFiles('roles').filter((file) => isSource(file) && basename(dirname(file)) === 'roles');
    const taken = found.find((file) => roles.includes(`roles/${basename(file)}`));
    if (taken !== undefined)
      end(`${taken}: rpc-playbooks has a role ${nameOf(taken)}\n  give yours another name`);
    return found;
  } catch (error) {
    return end(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Reports code that cannot be compiled or loaded: the place, and no stack unless asked for.
 *
 * @param {unknown} error
 * @param {string} [what] could not be done
 * @returns {never}
 */
function refuse(error, what = 'the program cannot be loaded') {
  const { errors, code, message, stack } =
    /** @type {Partial<import('esbuild').BuildFailure & NodeJS.ErrnoException>} */ (error);
  if (errors) end(placesOf(errors, root));
  if (code === 'ERR_MODULE_NOT_FOUND') end(`${message}\n  the packages are not all installed: npm ci`);
  if (process.argv.includes('--verbose')) end(stack ?? String(error));
  end(`${what}: ${message ?? error}\n  --verbose shows where`);
}
