import { composeService } from '../../engine/resource/docker/compose-service.ts';
import { type Signed, signedImage } from '../images/image-signatures.ts';
import type { ServiceName } from '../variables/services.ts';
import { renderHost } from './render.ts';
import type { RenderContext } from './render-context.ts';

/** By whose key the image of a service is signed. */
const keyOf: Readonly<Record<ServiceName, Signed>> = {
  'state-db': 'database',
  'pool-db': 'database',
  prover: 'prover',
  sync: 'node',
  'json-rpc': 'node',
};

/**
 * The image and the running container of one service, as the host's Compose file defines it. The
 * container has the service's name.
 *
 * @throws TypeError for a service that the host does not run
 */
export async function component(context: RenderContext, name: ServiceName) {
  const { host, vars } = context;
  const rendered = (await renderHost(context)).services[name];
  if (!rendered) throw new TypeError(`${host.name} (${host.groups.join(', ')}) runs no ${name}`);
  const { image, configHash, earlierHashes, readsAtStart, pin } = rendered;
  const directory = vars.paths.deployment;
  return {
    image: signedImage(vars, keyOf[name], image, pin),
    service: composeService({
      directory,
      service: name,
      container: name,
      configHash,
      earlierHashes,
      readsAtStart,
      imageId: pin?.id,
    }),
  };
}
