import { ok } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { serverLetsItselfBeCopied } from '../lib/node/backup/source.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { slotOf } from './replica.ts';

/** The replicas, and no former ones, may copy the database server, which keeps its log for each of them. */
export default role<Variables>('replica-source', (context) => {
  if (!context.host.groups.includes('database')) return [];
  const replicas = context.hosts.filter(({ groups }) => groups.includes('replica'));
  const slots = replicas.map(({ name }) => slotOf(name));
  const resource = serverLetsItselfBeCopied(context, 'replica', replicas, slots);
  if (replicas.length > 0) return [resource];
  // The last one may have been removed. A server that does not run yet never had one.
  return [
    {
      ...resource,
      check: async (host) => {
        const verdict = await resource.check(host);
        return verdict.is === 'unknown' ? ok : verdict;
      },
    },
  ];
});
