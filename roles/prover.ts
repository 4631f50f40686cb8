import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { role } from '../lib/engine/resource/role.ts';
import { networksAreApart } from '../lib/node/preflight/docker-networks.ts';
import { component } from '../lib/node/render/component.ts';
import { renderHost } from '../lib/node/render/render.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** It opens all its database connections before it listens. Seconds. */
const startLimit = 300;

/** The executor and hash-database server that the node of the same host uses. */
export default role<Variables>('prover', async (context) => {
  const { image, service } = await component(context, 'prover');
  const { listens } = await renderHost(context);
  const hint = 'it retries while the state database refuses it: see docker logs prover';
  // Compose has made the network by now.
  return [
    image,
    service,
    networksAreApart(context),
    containerListens('prover', listens.prover, startLimit, hint),
  ];
});
