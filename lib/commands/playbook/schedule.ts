import { resolve } from 'node:path';
import type { SourcedInventory } from '../../engine/inventory/inventory.ts';
import { role } from '../../engine/resource/role.ts';
import { play, playbook } from '../../engine/run/playbook.ts';
import { driftCheck } from '../../node/monitor/drift-check.ts';
import type { Variables } from '../../node/variables/variables.ts';
import { type Dependencies, main } from './command.ts';

/**
 * Installs the timer of the scheduled drift check. The playbook runs on this machine, not on the
 * inventory's hosts.
 *
 * @param args as for a playbook
 * @param dependencies as for `main`
 */
export function scheduleCheck(args: readonly string[], dependencies: Dependencies<Variables>) {
  let inventory: SourcedInventory<Variables> | undefined;
  let identity: string | undefined;
  const check = role<Variables>('drift-check', () =>
    inventory ? driftCheck(inventory, identity === undefined ? undefined : resolve(identity)) : [],
  );
  const purpose =
    'puts a timer on this machine that runs check mode, as monitoring.drift_check of the inventory says.';
  return main(playbook('schedule', purpose, [play('controller', { hosts: 'all', roles: [check] })]), args, {
    ...dependencies,
    async load(nameOrFile, how, options) {
      ({ identity } = options);
      inventory = await dependencies.load(nameOrFile, how, options);
      const [first] = inventory.hosts;
      const here = { address: 'localhost', port: undefined, user: undefined, identityFile: undefined };
      const connection = {
        ...here,
        type: 'local' as const,
        hostKeys: [],
        knownHostsFile: undefined,
        jump: [],
        client: undefined,
        becomePassword: undefined,
      };
      return {
        ...inventory,
        hosts: first ? [{ name: 'controller', groups: ['controller'], vars: first.vars, connection }] : [],
      };
    },
  });
}
