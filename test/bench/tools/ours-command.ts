// The workload as a playbook of this project, run like any other: the same command line,
// inventory, plan and report.
import * as z from 'zod';
import { main } from '../../../lib/commands/playbook/command.ts';
import { openSession } from '../../../lib/engine/host/open-session.ts';
import { loadInventory } from '../../../lib/engine/inventory/load.ts';
import { play, playbook } from '../../../lib/engine/run/playbook.ts';
import workloadRole from './ours-role.ts';

/**
 * @param args the words after the script's name on the command line
 */
export function run(args: readonly string[]) {
  return main(
    playbook('ours', 'brings the workload about.', [
      play('workload', { hosts: 'all', roles: [workloadRole] }),
    ]),
    args,
    {
      load: (name, options) => loadInventory(name, z.strictObject({}), options),
      open: openSession,
      embedded: 'none',
      prepareEmbedded: async () => {},
    },
  );
}
