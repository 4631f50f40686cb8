import { helpText, parseCommandLine } from '../../engine/command-line/command-line.ts';
import { shared } from '../../engine/command-line/shared-options.ts';
import { unlockOnTerminal } from '../../engine/command-line/unlock.ts';
import { selectHosts } from '../../engine/inventory/pattern.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { type ExitCode, exitCode, exitCodeOfError } from '../../engine/problem/problem.ts';
import { printable } from '../../engine/text/printable.ts';
import { loadDeployment } from '../../node/inventory/inventory.ts';
import { givenInventory } from '../../node/inventory/project.ts';
import { filesOf } from '../../node/render/render-files.ts';

export const validateOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  identity: shared.identity,
  help: shared.help,
} as const;

const help = helpText({
  command: 'npx zx playbooks/validate.mjs',
  purpose:
    'checks an inventory without a connection: its values, that each secret is there, and that every file renders.',
  options: validateOptions,
  examples: ['--inventory mainnet'],
  exits: { 0: 'valid', 3: 'not valid: each fault with its place' },
});

/** The dependencies of the command. */
export interface ValidateDependencies {
  say(line: string): void;
  complain(line: string): void;
}

/** Runs the command. @param args the words after the script */
export async function validateCommand(args: readonly string[], around: ValidateDependencies): Promise<ExitCode> {
  try {
    const { given } = parseCommandLine(args, validateOptions);
    if (given.help) {
      around.say(help.trimEnd());
      return exitCode.converged;
    }
    const unlock = unlockOnTerminal(given.identity);
    const inventory = await loadDeployment(givenInventory(given.inventory), { unlock, connects: true });
    const hosts = given.limit === undefined ? inventory.hosts : selectHosts(inventory, given.limit);
    const files = await Promise.all(hosts.map((host) => filesOf(host, inventory.hosts)));
    const count = `${hosts.length} ${hosts.length === 1 ? 'host' : 'hosts'}, ${files.flat().length} files`;
    around.say(printable(`${inventory.name} is valid: ${count}, all secrets are there`));
    return exitCode.converged;
  } catch (error) {
    around.complain(describeError(error));
    return exitCodeOfError(error);
  }
}
