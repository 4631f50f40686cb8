// What a shell offers behind each command.
import { ownOptions } from './playbook.mjs';
import { commandNames, program } from './program.mjs';

/**
 * The options and words of each command, by its name: of playbooks, and of all other commands.
 *
 * @returns {Promise<Record<string, import('../engine/command-line/command.ts').Completed>>}
 */
export async function completedCommands() {
  /** @type {typeof import('../commands/playbook/main.ts')} */
  const { runOptions } = await program('lib/commands/playbook/main.ts');
  const playbooks = Object.entries(await ownOptions()).map(([name, own]) => [
    name,
    { options: { ...own, ...runOptions } },
  ]);
  const others = commandNames.map(async (name) => [
    name,
    (await program(`lib/commands/${name}/command.ts`)).run.completed,
  ]);
  return Object.fromEntries([...playbooks, ...(await Promise.all(others))]);
}
