import { role } from '../lib/engine/resource/role.ts';
import { replicasMayCopy } from '../lib/node/replica/source.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The replicas, and no former ones, may copy the database server, which keeps its log for each of
 * them.
 */
export default role<Variables>('replica-source', (context) =>
  context.host.groups.includes('database') ? [replicasMayCopy(context)] : [],
);
