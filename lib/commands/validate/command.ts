import { command, standardOutput } from '../../engine/command-line/command.ts';
import { shared } from '../../engine/command-line/command-line.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { exitCode } from '../../engine/problem/problem.ts';
import { counted } from '../../engine/text/counted.ts';
import { printable } from '../../engine/text/printable.ts';
import { filesOf } from '../../node/render/render-files.ts';
import { givenHosts } from '../each-host/given-hosts.ts';

export const validateOptions = {
  inventory: shared.inventory,
  limit: shared.limit,
  identity: shared.identity,
  help: shared.help,
} as const;

export const run = command({
  command: 'npx zx playbooks/validate.mjs',
  purpose:
    'checks an inventory without a connection: its values, that each secret is there, and that every file renders.',
  options: validateOptions,
  examples: ['--inventory mainnet'],
  exits: { 0: 'valid', 3: 'not valid: each fault with its place' },
  around: standardOutput,
  async work({ given }, around) {
    const { inventory, chosen } = await givenHosts(given, true);
    const files = await Promise.all(chosen.map((host) => filesOf(host, inventory.hosts)));
    const count = `${counted(chosen.length, 'host')}, ${files.flat().length} files`;
    for (const each of inventory.warnings ?? []) around.complain(`warning: ${describeError(each)}`);
    around.say(printable(`${inventory.name} is valid: ${count}, all secrets are there`));
    return exitCode.converged;
  },
});
