import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import type { Fault } from '../variables/fault.ts';
import { replicaOf } from '../variables/hosts.ts';
import type { RawVariables } from '../variables/variables.ts';

type Host = InventoryHost<RawVariables>;

/**
 * Settings of which a replica needs at least as much as the server that it follows, or it does not
 * start.
 */
const atLeast = ['max_connections', 'max_worker_processes'] as const;

/** The key of the prover that a replica needs: a prover that writes would end at its start. */
const readOnly = '+dbReadOnly';

/** The rules for replicas that the schema of the variables cannot express. */
export function* replicaFaults(
  { hosts, hostsWith }: LoadedInventory<RawVariables>,
  host: Host,
): Generator<Fault> {
  const { name, groups, vars } = host;
  const isDatabase = groups.includes('database');
  const replicas = hosts.filter((each) => each.groups.includes('replica')).map((each) => each.name);
  const { use } = vars.replica;
  const readers = hosts.filter((each) => each.groups.includes('rpc') && !each.groups.includes('database'));
  const chosen = hostsWith(name, ['replica', 'use']);
  if (chosen && !readers.some((each) => chosen.includes(each.name))) {
    const what = `replica.use of ${name} has no use: only an RPC server reads a replica`;
    yield { path: ['replica', 'use'], at: 'key', what };
  } else if (use !== undefined && use !== 'none' && !replicas.includes(use)) {
    const hint = `name one of ${['none', ...replicas].join(', ')}`;
    yield {
      path: ['replica', 'use'],
      what: `replica.use of ${name} is ${use}, which is not in group replica`,
      hint,
    };
  }
  const server = hosts.find((each) => each.groups.includes('database'));
  for (const key of server && groups.includes('replica') ? atLeast : []) {
    const [own, least] = [vars.state_db[key], server?.vars.state_db[key] ?? 0];
    const what = `state_db.${key} of ${name} is ${own}, and ${server?.name} has ${least}`;
    if (own < least)
      yield { path: ['state_db', key], what, hint: 'a replica needs at least as much, or does not start' };
  }
  const value = vars.prover_config[readOnly];
  const path = ['prover_config', readOnly];
  if (isDatabase && value === true) {
    yield {
      path,
      what: `prover_config.${readOnly} of ${name}: the synchronizer ends with a prover that does not write`,
    };
  } else if (replicaOf(hosts, host) && value === false) {
    yield { path, what: `prover_config.${readOnly} of ${name} is false, and it reads a replica` };
  }
}
