import type { Session } from '../host/session.ts';
import type { Inventory, InventoryHost } from '../inventory/inventory.ts';
import type { Task } from './events.ts';
import { mapWithForks } from './limit.ts';
import type { Playbook } from './playbook.ts';
import { targetsOf, taskRunsFor } from './prepare.ts';
import type { RunOptions } from './run-options.ts';

/** The tasks of one host in order, or the error of its connection. */
export type HostTasks =
  | { readonly host: string; readonly steps: readonly Task[] }
  | { readonly host: string; readonly error: unknown };

/**
 * The tasks of a playbook for each host. It gathers facts, because tasks depend on them, and
 * checks nothing.
 *
 * @throws Problem where a role cannot make its tasks from the variables
 */
export async function listTasks<V>(
  playbook: Playbook<V>,
  inventory: Inventory<V>,
  open: (host: InventoryHost<V>) => Promise<Session>,
  options: Pick<RunOptions, 'hosts' | 'forks' | 'selects' | 'given'>,
): Promise<HostTasks[]> {
  return mapWithForks(
    targetsOf(playbook, inventory, options),
    options.forks,
    async (target): Promise<HostTasks> => {
      let session: Session;
      try {
        session = await open(target);
      } catch (error) {
        return { host: target.name, error };
      }
      try {
        const taskRuns = await taskRunsFor(playbook, inventory, target, session.facts, options);
        return { host: target.name, steps: taskRuns.map(({ task }) => task) };
      } finally {
        await session.close();
      }
    },
  );
}
