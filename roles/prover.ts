import { component } from '../lib/node/component.ts';
import type { Variables } from '../lib/node/variables.ts';
import { containerListens } from '../lib/resource/listening.ts';
import { role } from '../lib/resource/role.ts';

/** Hash database and executor, as the prover's own configuration numbers them inside its container. */
const ports = [50061, 50071];

/** It opens all its database connections before it listens. Seconds. */
const startLimit = 300;

/** The executor and hash-database server that the node of the same host uses. */
export default role<Variables>('prover', async (context) => {
  const { image, service } = await component(context, 'prover');
  const hint = 'it keeps trying while the state database refuses it: look at `docker logs prover`';
  return [image, service, containerListens('prover', ports, startLimit, hint)];
});
