import type { Reader, Writer } from '../../engine/host/host.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { ensureContainerRuns, reachedBy } from '../../engine/resource/docker/compose-service.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';

/** "wait 5 seconds": between the start of pool-db and that of sync or json-rpc (spec part 1.6). */
const poolDbLead = 5;

/** A component that has run for this long did not end at its start. Seconds. */
const settled = 5;

/** pool-db runs for 5 seconds before `next` is started. */
export function poolDbHasItsLead(next: 'sync' | 'json-rpc'): Resource {
  return hasRunFor(`pool-db has run for ${poolDbLead} seconds before ${next} starts`, 'pool-db', poolDbLead);
}

/**
 * Docker starts a component again and again that ends at its start, as the node does when layer 1
 * does not answer.
 */
export function staysUp(container: string): Resource {
  return hasRunFor(`${container} stays up`, container, settled);
}

function hasRunFor(name: string, container: string, seconds: number): Resource {
  const check = async (host: Reader) => {
    const [state, age] = await Promise.all([host.container(container), runningFor(host, container)]);
    if (age === undefined) return unknownUntil(`${container} is running`);
    if (age >= seconds) return ok;
    const short = `${container} has run for ${Math.floor(age)} s`;
    // After a first start, time alone is missing. One that Docker has restarted may end again.
    if (state?.restartCount === 0) return unknownUntil(`the ${seconds} seconds have passed: ${short}`);
    return drift(short);
  };
  const reached = reachedBy(container, name, check, { seconds: 30 });
  return {
    ...reached,
    // The wait is known, so nobody has to ask again and again.
    async work(host: Writer) {
      const age = (await runningFor(host, container)) ?? seconds;
      if (age < seconds) await pause(host, seconds - age);
      try {
        await reached.work(host);
      } catch (error) {
        // Each look may have met it running, soon after one of its starts.
        if (error instanceof Failure) await ensureContainerRuns(host, container, { restarts: 0 });
        throw error;
      }
    },
  };
}

/** Seconds by the host's own clock; undefined where the container does not run. */
async function runningFor(host: Reader, container: string): Promise<number | undefined> {
  const [state, clock] = await Promise.all([host.container(container), host.$`date +%s.%N`]);
  return state?.status === 'running' ? Number(clock.text()) - Date.parse(state.startedAt) / 1000 : undefined;
}
