import { command } from '../lib/engine/host/step.ts';
import { ensureContainerRuns } from '../lib/engine/resource/docker/compose-service.ts';
import { containerListens } from '../lib/engine/resource/network/listening.ts';
import { containerChange, drift, ok, refused, type Work } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { acceptsConnections } from '../lib/node/databases/databases.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { type ServiceName, serviceNames } from '../lib/node/variables/services.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** As at a deploy: a database flushes to disk, the synchronizer ends what it writes. Seconds. */
const stopLimit = 120;
/** A prover opens all its connections, the node waits for the prover. Seconds. */
const startLimit = 300;

/** The component of the option `component` has been restarted in this run, where the host has it. */
export default role<Variables>('restarted', async (context) => {
  const name = serviceNames.find((each) => each === context.given.component);
  const { services, listens } = await renderHost(context);
  if (!name || !services[name]) return [];
  // By the host's own clock.
  const begin = Date.now() + context.facts.clockOffset * 1000;
  const serves = name.endsWith('-db')
    ? acceptsConnections(name as Extract<ServiceName, `${string}-db`>)
    : containerListens(name, listens[name as keyof typeof listens], startLimit);
  return [restarted(name, begin), serves];
});

/**
 * @param begin of the run: milliseconds since 1970
 */
function restarted(name: ServiceName, begin: number): Work {
  return {
    name: `${name} is restarted`,
    changes: () => [containerChange(name)],
    async check(host) {
      const state = await host.container(name);
      if (state?.status !== 'running') return refused(`${name} does not run`, 'a deploy starts it');
      if (Date.parse(state.startedAt) >= begin) return ok;
      const difference = { what: 'started', was: state.startedAt, wanted: 'in this run' };
      return drift([difference], [command`docker restart --time ${stopLimit} ${name}`]);
    },
    async work(host) {
      await host.sleep(1);
      await ensureContainerRuns(host, name, { restarts: 0 });
    },
  };
}
