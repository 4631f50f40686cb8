import { composeService } from '../../engine/resource/docker/compose-service.ts';
import { dockerImage } from '../../engine/resource/docker/docker-image.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { renderHost } from './render.ts';

export type ComponentName = 'state-db' | 'pool-db' | 'prover' | 'sync' | 'json-rpc';

/** What it takes to run one component of the node as its host's compose file has it. The container has the component's name. */
export interface Component {
  readonly image: Resource;
  readonly service: Resource;
}

/** @throws TypeError when the component does not belong on that host */
export async function component(context: Context<Variables>, name: ComponentName): Promise<Component> {
  const { services } = await renderHost(context);
  const service = services[name];
  if (!service) throw new TypeError(`${context.host.name} (${context.host.groups.join(', ')}) runs no ${name}`);
  const directory = context.vars.paths.deployment;
  return {
    image: dockerImage(service.image),
    service: composeService({
      directory,
      service: name,
      container: name,
      configHash: service.configHash,
      readsAtStart: service.readsAtStart,
    }),
  };
}
