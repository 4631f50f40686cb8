import { ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { serverLetsItselfBeCopied } from '../backup/source.ts';
import type { Variables } from '../variables/variables.ts';
import { slotOf } from './slot.ts';

/**
 * The replicas, and no former ones, may copy the database server, which keeps its log for each of
 * them.
 */
export function replicasMayCopy(context: Context<Variables>): Resource {
  const replicas = context.hosts.filter(({ groups }) => groups.includes('replica'));
  const slots = replicas.map(({ name }) => slotOf(name));
  const resource = serverLetsItselfBeCopied(context, 'replica', replicas, slots);
  if (replicas.length > 0) return resource;
  // The last one may have been removed. A server that does not run yet never had one.
  return {
    ...resource,
    check: async (host) => {
      const verdict = await resource.check(host);
      return verdict.is === 'unknown' ? ok : verdict;
    },
  };
}
