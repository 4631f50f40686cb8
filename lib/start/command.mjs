import { argumentsOf } from './arguments.mjs';
import { program } from './program.mjs';

/**
 * Runs the command line of lib/commands/NAME/main.ts, and sets the process's exit code.
 *
 * @param {string} name the script's own, without .mjs
 */
export async function command(name) {
  const { run } = await program(`lib/commands/${name}/main.ts`);
  process.exitCode = await run(argumentsOf(`${name}.mjs`));
}
