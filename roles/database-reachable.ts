import { role } from '../lib/engine/resource/role.ts';
import { acceptsLogins } from '../lib/node/databases/log-in.ts';
import { stateDatabaseAnswers } from '../lib/node/databases/reachable.ts';
import { containersReach } from '../lib/node/preflight/from-containers.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { stateHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * An RPC server and its containers reach the state database. It is checked before components start
 * that would wait for it and end.
 */
export default role<Variables>('database-reachable', async (context) => {
  const server = stateHost(context.hosts, context.host);
  // Its own containers reach it in their network.
  if (context.host.name === server.name) return [];
  const { services } = await renderHost(context);
  return [
    stateDatabaseAnswers(server),
    acceptsLogins(context, ['state', 'prover'], services),
    (await component(context, 'pool-db')).image,
    await containersReach(context),
  ];
});
