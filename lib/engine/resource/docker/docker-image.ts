import { command } from '../../host/action.ts';
import { drift, ok, type Resource } from '../resource.ts';
import { untilDockerRuns } from './docker-engine.ts';

/** Images are several GB and registries can be slow. Seconds. */
const pullLimit = 4 * 3600;

/**
 * An image on the host, pulled if no image of that name is there. A tag that moves in the registry is not pulled again.
 *
 * @param reference as for `docker pull`: `registry/name:tag` or `registry/name@sha256:…`
 * @example dockerImage('registry.example.org/tools:1.4')
 */
export function dockerImage(reference: string): Resource {
  return {
    name: `image ${reference}`,
    async check(host) {
      const [until, inspected] = await Promise.all([
        untilDockerRuns(host),
        host.$`docker image inspect --format ${'{{.Id}}'} ${reference}`,
      ]);
      if (until) return until;
      if (inspected.ok) return ok;
      const pull = command({ timeoutSeconds: pullLimit })`docker pull --quiet ${reference}`;
      return drift([{ what: 'image', was: 'absent', wanted: reference }], [pull]);
    },
  };
}
