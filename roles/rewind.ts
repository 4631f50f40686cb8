import { role } from '../lib/engine/resource/role.ts';
import { stateIsRewound } from '../lib/node/rewind/database.ts';
import { jsonRpcIsRewound, replicaIsRewound } from '../lib/node/rewind/readers.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The state database has only blocks that the trusted sequencer and layer 1 have, too. Replicas
 * have followed, and json-rpc was started after the rewind.
 */
export default role<Variables>('rewind', async (context) => {
  const { groups } = context.host;
  return [
    ...(groups.includes('database') ? stateIsRewound(context) : []),
    ...(groups.includes('replica') ? [replicaIsRewound(context)] : []),
    ...(groups.includes('rpc') ? await jsonRpcIsRewound(context) : []),
  ];
});
