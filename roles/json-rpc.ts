import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { role } from '../lib/engine/resource/role.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { poolDbHasItsLead } from '../lib/node/server/startup.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { poolIsCarriedOver } from '../lib/node/version/known-migrations.ts';
import { formerVersionIsStoppedHere } from '../lib/node/version/version-change.ts';

/** The node waits up to 120 s each for the executor and the hash database, then ends. Seconds. */
const startLimit = 260;

/** Serves JSON-RPC to the outside. */
export default role<Variables>('json-rpc', async (context) => {
  const { image, service } = await component(context, 'json-rpc');
  const { listens } = await renderHost(context);
  return [
    image,
    ...formerVersionIsStoppedHere(context),
    poolDbHasItsLead('json-rpc'),
    poolIsCarriedOver(context),
    service,
    containerListens('json-rpc', listens['json-rpc'], startLimit),
  ];
});
