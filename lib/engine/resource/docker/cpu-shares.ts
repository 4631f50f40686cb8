import { command } from '../../host/step.ts';
import { drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { untilDockerRuns } from './docker-engine.ts';

/**
 * The CPU shares of a container in the engine, independent of its Compose file. They are set
 * without a restart.
 */
export function cpuShares(container: string, shares: number): Resource {
  return {
    name: `${container} has ${shares} CPU shares`,
    async check(host) {
      const [until, state] = await Promise.all([untilDockerRuns(host), host.container(container)]);
      if (until) return until;
      if (!state) return unknownUntil(`${container} is there`);
      if (state.cpuShares === shares) return ok;
      return drift(
        [{ what: 'CPU shares', was: String(state.cpuShares), wanted: String(shares) }],
        [command`docker update --cpu-shares ${shares} ${container}`],
      );
    },
  };
}
