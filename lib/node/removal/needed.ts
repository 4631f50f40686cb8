import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { readersOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * Only an RPC server beside others, or a replica that nobody reads, can be removed.
 *
 * @throws Problem for a server that the deployment needs
 */
export function refuseNeeded({ host, hosts }: Pick<Context<Variables>, 'host' | 'hosts'>): void {
  if (host.groups.includes('replica')) {
    const readers = readersOf(hosts, host).map(({ name }) => name);
    if (readers.length === 0) return;
    const hint =
      'give them another one, or none, by replica.use in the inventory, deploy, and remove it then';
    throw new Problem(`${host.name} is read by ${readers.join(', ')}`, { hint });
  }
  const other = host.groups.find((group) => group !== 'rpc');
  if (other !== undefined)
    throw new Problem(
      `${host.name} is in group ${other}, too: only an RPC server or a replica can be removed`,
    );
  if (hosts.filter(({ groups }) => groups.includes('rpc')).length > 1) return;
  throw new Problem(`${host.name} is the only RPC server`, { hint: 'add another one first' });
}
