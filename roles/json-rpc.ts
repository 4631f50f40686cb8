import { component } from '../lib/node/component.ts';
import { renderHost } from '../lib/node/render.ts';
import { poolDbHasItsLead } from '../lib/node/startup.ts';
import type { Variables } from '../lib/node/variables.ts';
import { containerListens } from '../lib/resource/listening.ts';
import { role } from '../lib/resource/role.ts';

/** The node waits up to 120 s each for the executor and the hash database, then ends. Seconds. */
const startLimit = 260;

/** Serves JSON-RPC to the outside. */
export default role<Variables>('json-rpc', async (context) => {
  const { image, service } = await component(context, 'json-rpc');
  const { listens } = await renderHost(context);
  return [image, poolDbHasItsLead('json-rpc'), service, containerListens('json-rpc', listens['json-rpc'], startLimit)];
});
