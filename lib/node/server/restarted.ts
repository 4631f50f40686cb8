import { command } from '../../engine/host/step.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { containerChange, drift, ok, refused, type Work } from '../../engine/resource/resource.ts';
import type { ServiceName } from '../variables/services.ts';

/** As at a deploy: a database flushes to disk, the synchronizer ends what it writes. Seconds. */
const stopLimit = 120;

/**
 * A container has been started since the begin of the run.
 *
 * @param begin when the run began, by the clock of the host. Milliseconds since 1970
 */
export function isRestarted(name: ServiceName, begin: number): Work {
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
