import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { role } from '../lib/engine/resource/role.ts';
import { acceptsConnections } from '../lib/node/databases/databases.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { isRestarted } from '../lib/node/server/restarted.ts';
import { type ServiceName, serviceNames } from '../lib/node/variables/services.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A prover opens all its connections, the node waits for the prover. Seconds. */
const startLimit = 300;

/**
 * The component of the option `component` has been restarted in this run, where the host has it.
 */
export default role<Variables>('restarted', async (context) => {
  const name = serviceNames.find((each) => each === context.given.component);
  const { services, listens } = await renderHost(context);
  if (!name || !services[name]) return [];
  // By the host's own clock.
  const begin = Date.now() + context.facts.clockOffset * 1000;
  const serves = name.endsWith('-db')
    ? acceptsConnections(name as Extract<ServiceName, `${string}-db`>)
    : containerListens(name, listens[name as keyof typeof listens], startLimit);
  return [isRestarted(name, begin), serves];
});
