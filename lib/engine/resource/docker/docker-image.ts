import { command } from '../../host/step.ts';
import { Failure } from '../../problem/problem.ts';
import { drift, ok, type Resource } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { untilDockerRuns } from './docker-engine.ts';

/** Images are several GB and registries can be slow. Seconds. */
const pullLimit = 4 * 3600;

/** An image: its id on hosts that have it, and where to get it by digest. */
export interface ImagePin {
  readonly id: string;
  /** `name@sha256:…`, if a registry gave one. */
  readonly digest: string | undefined;
}

/**
 * An image on the host, pulled if no image of that name is there. A tag that moves in the registry
 * is not pulled again.
 *
 * @param reference as for `docker pull`: `registry/name:tag` or `registry/name@sha256:…`
 * @param pin the image that the name has to mean, such as that of a release: it is kept by its id,
 * or pulled by its digest
 * @example dockerImage('registry.example.org/tools:1.4')
 */
export function dockerImage(reference: string, pin?: ImagePin): Resource {
  refuseNoText('dockerImage', { reference });
  return {
    name: `image ${reference}`,
    async check(host) {
      const idOf = (name: string) => host.$`docker image inspect --format ${'{{.Id}}'} ${name}`;
      const [until, inspected, kept] = await Promise.all([
        untilDockerRuns(host),
        idOf(reference),
        pin ? idOf(pin.id) : undefined,
      ]);
      if (until) return until;
      if (inspected.ok && (!pin || inspected.text() === pin.id)) return ok;
      const pull = (name: string) => command({ timeoutSeconds: pullLimit })`docker pull --quiet ${name}`;
      const was = inspected.ok ? inspected.text() : 'absent';
      // A name with a digest has one meaning.
      if (!pin || reference.includes('@'))
        return drift([{ what: 'image', was, wanted: reference }], [pull(reference)]);
      const difference = { what: 'image', was, wanted: `${reference} as ${pin.id}` };
      if (kept?.ok) return drift([difference], [command`docker tag ${pin.id} ${reference}`]);
      if (pin.digest !== undefined)
        return drift([difference], [pull(pin.digest), command`docker tag ${pin.digest} ${reference}`]);
      const what = `the image ${pin.id} of ${reference} is no longer on this host, and its registry gave no digest`;
      const hint = 'deploy it from its registry by another name or tag';
      return drift([difference], new Failure(what, { hint }));
    },
  };
}
